/*
 * groups.js - how the payload of a family is divided into what the stage draws. Nothing here knows
 * where a header ends or how wide a slot is: the steps of an explanation say it (nay_explain.h), for
 * any key.
 */

/* groupsOf: groups of a filter, from explanations of some keys and the size of the payload. */
export function groupsOf(kind, explanations, payloadBits, settable) {
  const steps = explanations
    .flatMap((e) => e.steps)
    .filter((s) => s.nbits > 0 && s.kind !== 'constant' && s.kind !== 'xor');
  if (steps.length === 0) return [{ label: '', base: 0, width: 1, ncells: payloadBits }];
  const step = steps[0];
  const base = step.unitBit - step.unitIndex * step.unitNbits;
  switch (kind) {
    case 'bloom':
      return [{ label: '', base: 0, width: 1, ncells: settable }];
    case 'blocked':
    case 'counting':
      return units('cache line', base, step.unitNbits, settable, 1);
    case 'window':
      return units('unit', base, step.unitNbits, payloadBits - base, 1).map((g) => ({ ...g, hues: 4 }));
    case 'cuckoo':
      return units('', base, step.unitNbits, payloadBits - base, step.nbits);
    case 'scalable':
      return levels(steps, payloadBits);
    case 'xor':
    case 'fuse':
      return segments(step, base, payloadBits);
    case 'ribbon':
      return blocks(steps, payloadBits);
    default:
      return [{ label: '', base: 0, width: 1, ncells: payloadBits }];
  }
}

/* units: equal parts of `nbits` in all, each of cells of `width`. */
function units(name, base, unitBits, nbits, width) {
  const n = Math.max(1, Math.floor(nbits / unitBits));
  return Array.from({ length: n }, (_, i) => ({
    label: name && n <= 64 ? `${name} ${i}` : '',
    base: base + i * unitBits,
    width,
    ncells: Math.floor(unitBits / width),
  }));
}

/* levels: of a scalable filter; a level ends where the next begins. */
function levels(steps, payloadBits) {
  const bases = new Map();
  for (const s of steps) bases.set(s.level, { base: s.unitBit - s.unitIndex * s.unitNbits, unit: s.unitNbits });
  const sorted = [...bases].sort((a, b) => a[1].base - b[1].base);
  return sorted.flatMap(([level, { base, unit }], i) => {
    const end = i + 1 < sorted.length ? sorted[i + 1][1].base : payloadBits;
    return units('', base, unit, end - base, 1).map((g, j) => ({
      ...g,
      level,
      unit: j,
      label: j === 0 ? `level ${level}` : '\u00b7',
    }));
  });
}

/* segments: of slots; one group when they are many. */
function segments(step, base, payloadBits) {
  const n = Math.floor((payloadBits - base) / step.unitNbits);
  const rest = payloadBits - base;
  if (n < 1 || n > 64) return [{ label: '', base, width: step.nbits, ncells: Math.floor(rest / step.nbits) }];
  const all = units(step.unit, base, step.unitNbits, n * step.unitNbits, step.nbits);
  const left = Math.floor((rest - n * step.unitNbits) / step.nbits);
  if (left >= 8) all.push({ label: '', base: base + n * step.unitNbits, width: step.nbits, ncells: left });
  return all;
}

/*
 * blocks: of a ribbon. A block has 128 slots, column after column, and not all have as many columns.
 * The steps of many keys tell where blocks are; the last one, where no key starts, is known by the
 * columns that go on in it.
 */
function blocks(steps, payloadBits) {
  const found = new Map(); /* first bit -> {nbits, cols} */
  const next = new Map(); /* first bit of a block in which columns go on -> {stride, columns} */
  for (const s of steps) {
    if (s.kind !== 'column')
      return [{ label: '', base: 0, width: 1, ncells: payloadBits }]; /* too few keys: a Bloom filter */
    found.set(s.unitBit, { nbits: s.unitNbits, cols: 128 });
    if (s.nbits2 === 0) continue;
    const base = s.unitBit + s.unitNbits;
    const seen = next.get(base) ?? { columns: 0, stride: 128 };
    if (s.index > 0) seen.stride = (s.bit2 - base) / s.index;
    next.set(base, { ...seen, columns: Math.max(seen.columns, s.index + 1) });
  }
  for (const [base, { stride, columns }] of next)
    if (!found.has(base) && stride > 0) found.set(base, { nbits: stride * columns, cols: Math.round(stride) });
  return [...found]
    .sort((a, b) => a[0] - b[0])
    .map(([base, { nbits, cols }], i) => ({
      label: `block ${i}`,
      base,
      width: 1,
      ncells: Math.floor(Math.min(nbits, payloadBits - base)),
      cols,
    }));
}

/* trimSlots: groups of the first n slots; a payload may end in padding that looks like more. */
export function trimSlots(groups, n) {
  let left = n;
  return groups
    .map((g) => {
      const ncells = Math.max(0, Math.min(g.ncells, left));
      left -= ncells;
      return { ...g, ncells };
    })
    .filter((g) => g.ncells > 0);
}
