/*
 * groups.js - how the payload of a family is divided into what the stage draws. Nothing here knows
 * where a header ends or how wide a slot is: the steps of an explanation say it (nay_explain.h), for
 * any key.
 */

/* groupsOf: groups of a filter, from explanations of some keys and the size of the payload. */
export function groupsOf(kind, explanations, payloadBits, settable) {
  const steps = explanations.flatMap((e) => e.steps).filter((s) => s.nbits > 0 && s.kind !== 'constant' && s.kind !== 'xor');
  if (steps.length === 0) return [{ label: '', base: 0, width: 1, ncells: payloadBits }];
  const step = steps[0];
  const base = step.unitBit - step.unitIndex * step.unitNbits;
  switch (kind) {
    case 'bloom': return [{ label: '', base: 0, width: 1, ncells: settable }];
    case 'blocked': case 'counting': return units('cache line', base, step.unitNbits, settable, 1);
    case 'window': return units('unit', base, step.unitNbits, payloadBits - base, 1);
    case 'cuckoo': return units('', base, step.unitNbits, payloadBits - base, step.nbits);
    case 'scalable': return levels(steps, payloadBits);
    case 'xor': case 'fuse': return segments(step, base, payloadBits);
    case 'ribbon': return blocks(steps, payloadBits);
    default: return [{ label: '', base: 0, width: 1, ncells: payloadBits }];
  }
}

/* units: equal parts of `nbits` in all, each of cells of `width`. */
function units(name, base, unitBits, nbits, width) {
  const n = Math.max(1, Math.floor(nbits / unitBits));
  return Array.from({ length: n }, (_, i) => ({ label: name && n <= 64 ? `${name} ${i}` : '', base: base + i * unitBits, width, ncells: Math.floor(unitBits / width) }));
}

/* levels: of a scalable filter; a level ends where the next begins. */
function levels(steps, payloadBits) {
  const bases = new Map();
  for (const s of steps) bases.set(s.level, { base: s.unitBit - s.unitIndex * s.unitNbits, unit: s.unitNbits });
  const sorted = [...bases].sort((a, b) => a[1].base - b[1].base);
  return sorted.flatMap(([level, { base, unit }], i) => {
    const end = i + 1 < sorted.length ? sorted[i + 1][1].base : payloadBits;
    return units('', base, unit, end - base, 1).map((g, j) => ({ ...g, label: j === 0 ? `level ${level}` : `\u00b7` }));
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

/* blocks: of a ribbon; each has its columns one after the other, 128 slots in each. */
function blocks(steps, payloadBits) {
  const first = steps.reduce((a, s) => Math.min(a, s.unitBit), Infinity);
  const unit = steps[0].unitNbits;
  const base = first - Math.floor(first / unit) * unit;
  return units('block', base, unit, payloadBits - base, 1).map((g) => ({ ...g, cols: 128 }));
}
