/*
 * groups.js - how the payload of a filter is divided into what the stage draws. Nothing here knows a
 * family, where a header ends or how wide a slot is: the steps of explanations say it (nay_explain.h),
 * of keys that need not be in the filter. Only cells that some key can reach are drawn.
 */

/* unitWord: a unit as people call it: a block of 512 bits is a cache line. */
export function unitWord(name, nbits) {
  return nbits === 512 && (name === 'block' || name === 'line') ? 'cache line' : name;
}

/* shapeOf: what a probe of this filter reads: 'bit', 'fingerprint', 'slot', 'column', or 'none'. */
export function shapeOf(explanations) {
  for (const e of explanations)
    for (const s of e.steps) if (s.nbits > 0 && s.kind !== 'constant' && s.kind !== 'xor') return s.kind;
  return 'none';
}

/*
 * groupsOf: groups of a filter, from explanations of many keys. payloadBits is the size of the payload,
 * reachable the bits of it that keys can set, where the family says so (bits and fingerprints).
 */
export function groupsOf(explanations, payloadBits, reachable) {
  const steps = explanations
    .flatMap((e) => e.steps)
    .filter((s) => s.nbits > 0 && s.kind !== 'constant' && s.kind !== 'xor');
  if (steps.length === 0) return []; /* the same answer for every key: nothing is read */
  const step = steps.reduce((a, b) => (b.unitIndex < a.unitIndex ? b : a));
  const base = step.unitBit - step.unitIndex * step.unitNbits;
  switch (shapeOf(explanations)) {
    case 'bit':
      if (step.unit === 'line' || !step.unit)
        return [{ label: '', base, width: 1, ncells: Math.min(reachable, payloadBits - base) }];
      return levels(steps, payloadBits, reachable);
    case 'fingerprint':
      return units('', base, step.unitNbits, Math.min(reachable, payloadBits - base), step.nbits);
    case 'slot':
      return segments(steps, base, payloadBits);
    case 'column':
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

/*
 * levels: of bits in units. Levels that begin in different places are drawn one after the other; those that
 * share their units (the generations of a window) have a colour each.
 */
function levels(steps, payloadBits, reachable) {
  const bases = new Map();
  for (const s of steps) {
    const most = Math.max(bases.get(s.level)?.most ?? 0, s.unitIndex + 1);
    bases.set(s.level, { base: s.unitBit - s.unitIndex * s.unitNbits, unit: s.unitNbits, most });
  }
  const sorted = [...bases].sort((a, b) => a[1].base - b[1].base);
  const name = unitWord(steps[0].unit, steps[0].unitNbits);
  const shared = new Set(sorted.map(([, { base }]) => base)).size === 1;
  if (shared) {
    const { base, unit, most } = sorted[0][1];
    const nbits = Math.min(reachable, payloadBits - base);
    const all = units(name, base, unit, most <= 64 ? Math.min(nbits, most * unit) : nbits, 1);
    return sorted.length > 1 ? all.map((g) => ({ ...g, hues: sorted.length })) : all;
  }
  return sorted.flatMap(([level, { base, unit, most }], i) => {
    const end = i + 1 < sorted.length ? sorted[i + 1][1].base : payloadBits;
    const nbits = most <= 64 ? Math.min(end - base, most * unit) : end - base;
    return units('', base, unit, nbits, 1).map((g, j) => ({
      ...g,
      level,
      unit: j,
      label: j === 0 ? `level ${level}` : '\u00b7',
    }));
  });
}

/* segments: of slots, as many as keys reach; one group when they are many. */
function segments(steps, base, payloadBits) {
  const step = steps[0];
  const n = steps.reduce((most, s) => Math.max(most, s.unitIndex + 1), 1);
  const nbits = Math.min(n * step.unitNbits, payloadBits - base);
  if (n > 64) return [{ label: '', base, width: step.nbits, ncells: Math.floor(nbits / step.nbits) }];
  return units(step.unit, base, step.unitNbits, nbits, step.nbits);
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
