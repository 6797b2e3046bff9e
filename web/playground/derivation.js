/*
 * derivation.js - how a layout gets the positions of a key from one or two hashes, as a sentence. The positions are the
 * library's; a rule is told only if it gives every one of them. Layouts with rules of their own show their hashes alone.
 */
import { arrayBit } from './scripts.js';

const hex = (value) => BigInt(value).toString(16).padStart(value >> 32n ? 16 : 8, '0');
const rotated = (h) => ((h >> 17n) | (h << 15n)) & 0xffffffffn;

/* RULES: {text, at(h1, h2, i, m)} of hashes, the number of the probe and the bits of the array. */
const RULES = [
  { two: true, text: 'bit i is (hash 1 + i \u00b7 hash 2) mod 2\u2076\u2074 mod m', at: (a, b, i, m) => ((a + i * b) & 0xffffffffffffffffn) % m },
  { two: true, text: 'bit i is (hash 1 + i \u00b7 hash 2) mod m', at: (a, b, i, m) => (a + i * b) % m },
  {
    two: false,
    text: 'hash 2 is hash 1, rotated right by 17; bit i is (hash 1 + i \u00b7 hash 2) mod 2\u00b3\u00b2 mod m',
    at: (a, b, i, m) => ((a + i * rotated(a)) & 0xffffffffn) % m,
  },
];

/* derivation: the hashes of a probe of bits in one array of m bits and the rule that gives its positions; null: neither. */
export function derivation(why, m) {
  const bits = why.steps.filter((s) => s.kind === 'bit');
  if (why.ngroups !== 1 || bits.length === 0 || bits.length !== why.steps.length) return null;
  const [one, two] = [BigInt(why.hash), BigInt(why.hashHi)];
  const at = bits.map(arrayBit);
  const rule = RULES.find(
    (r) => r.two === (two !== 0n) && m > 0 && at.every((bit, i) => BigInt(bit) === r.at(one, two, BigInt(i), BigInt(m))),
  );
  if (!rule && two === 0n) return null;
  const second = rule && !rule.two ? rotated(one) : two;
  return `Hash 1 is ${hex(one)}, hash 2 ${hex(second)}${rule ? `; ${rule.text}, with m = ${m.toLocaleString('en')}` : ''}`;
}
