/*
 * families.js - what a reader needs to know of each family before any number: one line each, and a
 * colour that stays the same in every view. Sizes and rates are never here: the library computes them.
 */
export const FAMILIES = {
  bloom: { colour: 1, line: 'k bits anywhere in one array. Any size, tiny sets, the lowest rates.' },
  blocked: { colour: 2, line: 'The same bits inside one cache line: one memory access for each probe.' },
  counting: { colour: 3, line: 'Blocked, with a counter for each bit: keys can be removed.' },
  scalable: { colour: 4, line: 'Levels that triple, half by half: grows when the number of keys is not known.' },
  window: { colour: 5, line: 'Generations side by side: old keys expire.' },
  cuckoo: { colour: 6, line: 'Fingerprints in buckets: removal at low rates.' },
  xor: { colour: 7, line: 'Static: three slots whose xor is the fingerprint of the key.' },
  fuse: { colour: 9, line: 'Static: the same in overlapping segments. The fastest probe for large lists.' },
  ribbon: { colour: 8, line: 'Static: a band of equations, solved. The fewest bits.' },
};

/* SCENES: where each family shows what it is about: planned keys, FPR, and how many keys are in at first. */
const SCENES = {
  bloom: { n: 12, fpr: 0.1, keys: 6 },
  blocked: { n: 120, fpr: 0.03, keys: 90 },
  counting: { n: 90, fpr: 0.1, keys: 60 },
  scalable: { n: 40, fpr: 0.1, keys: 38 },
  window: { n: 60, fpr: 0.1, keys: 30 },
  cuckoo: { n: 40, fpr: 0.05, keys: 30 },
  xor: { n: 24, fpr: 0.05, keys: 24 },
  fuse: { n: 24, fpr: 0.05, keys: 24 },
  ribbon: { n: 300, fpr: 0.1, keys: 300 },
};

/* OTHERS: kinds of the library that keys, their number and an FPR are not enough for, and where the page has them. */
export const OTHERS =
  'Not here: range, which needs the lengths of ranges; list, which needs the keys that are not listed; map, which gives ' +
  'values; sbbf, a layout of Parquet. Look inside opens all of them.';

/* lineOf, sceneOf: of any family of the library, also one that has no line above. */
export function lineOf(kind, traits) {
  if (FAMILIES[kind]) return FAMILIES[kind].line;
  const able = ABILITIES.filter((a) => a.trait !== 'add' && traits[a.trait]).map((a) => a.label);
  return `${traits.add ? 'Takes keys one by one' : 'Static: made of all keys at once'}${able.length > 0 ? `; can ${able.join(', ')}` : ''}.`;
}

export function sceneOf(kind) {
  return SCENES[kind] ?? { n: 100, fpr: 0.05, keys: 80 };
}

/* ABILITIES: names of the traits, as people call them. */
export const ABILITIES = [
  { trait: 'add', label: 'add' },
  { trait: 'remove', label: 'remove' },
  { trait: 'merge', label: 'merge' },
  { trait: 'grow', label: 'grow' },
  { trait: 'expire', label: 'expire' },
];

/* colourOf: of a family. */
export function colourOf(kind) {
  return FAMILIES[kind]?.colour ?? 5;
}
