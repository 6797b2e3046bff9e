/*
 * keys.js - sets of keys: integers, words, the lines of a dropped file; as one buffer of
 * lines, which is what the library takes in batches.
 *
 * Words are made of syllables by the digits of a number, so that key i is different from every other
 * and a million of them need no list. A key that is surely absent starts with "?", which no
 * generated key does, or with a byte 0 beside the keys of a file.
 */
import { UserError } from './dom.js';

export const EXAMPLES = [
  'apple',
  'pear',
  'plum',
  'cherry',
  'quince',
  'fig',
  'olive',
  'lemon',
  'peach',
  'grape',
  'mango',
  'papaya',
  'kiwi',
  'lime',
  'melon',
  'date',
  'guava',
  'medlar',
  'sloe',
  'rowan',
  'damson',
  'currant',
  'bilberry',
  'apricot',
  'orange',
  'lychee',
  'mulberry',
  'citron',
  'pomelo',
  'elder',
  'almond',
  'hazel',
  'walnut',
  'chestnut',
  'pecan',
  'juniper',
  'barberry',
  'persimmon',
  'tayberry',
  'nectarine',
];

const ONSETS = ['b', 'd', 'f', 'g', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'w', 'st', 'br'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'ou'];
const SYLLABLES = ONSETS.flatMap((o) => VOWELS.map((v) => new TextEncoder().encode(o + v)));
const BASE = SYLLABLES.length; /* 128 */

/* A linear map of 21 bits keeps neighbouring numbers from looking alike; it is a bijection. */
function shuffled(i) {
  return (Math.imul(i, 1234565) + 777) & 0x1fffff;
}

/* keyAt: key i of a generated set, as text. */
export function keyAt(kind, i) {
  return new TextDecoder().decode(keyLines(kind, i, 1)).slice(0, -1);
}

/* keyLines: keys first .. first + n - 1 of a generated set, each followed by a newline. */
export function keyLines(kind, first, n, prefix = '') {
  const out = new Uint8Array(n * (kind === 'words' ? 17 : 16) + n * prefix.length);
  const head = new TextEncoder().encode(prefix);
  let at = 0;
  for (let i = first; i < first + n; i += 1) {
    for (let j = 0; j < head.length; j += 1) out[at++] = head[j];
    at = kind === 'words' ? writeWord(out, at, i) : writeInteger(out, at, i);
    out[at++] = 10;
  }
  return out.subarray(0, at);
}

function writeInteger(out, at, i) {
  let n = i;
  let end = at + 1;
  for (let x = i; x >= 10; x = Math.floor(x / 10)) end += 1;
  for (let p = end - 1; p >= at; p -= 1) {
    const q = Math.floor(n / 10);
    out[p] = 48 + (n - q * 10);
    n = q;
  }
  return end;
}

function writeWord(out, at, i) {
  let rest = i < 0x200000 ? shuffled(i) : i; /* three syllables, and more beyond two million */
  let end = at;
  for (let s = 0; s < 3 || rest > 0; s += 1) {
    const syllable = SYLLABLES[rest % BASE];
    for (let j = 0; j < syllable.length; j += 1) out[end++] = syllable[j];
    rest = Math.floor(rest / BASE);
  }
  return end;
}

/* absentLines: n keys that no generated set and no text file has; `from` picks others. */
export function absentLines(n, from = 0) {
  return keyLines('integers', from, n, '\u0000?');
}

/* FILE_LIMIT: bytes of a dropped file that are taken. */
const FILE_LIMIT = 256 * 1024 * 1024;

/* readFile: the bytes of a dropped file, refused when it is too large to hold. */
export async function readFile(file) {
  if (file.size > FILE_LIMIT)
    throw new UserError(
      `${file.name} has ${file.size.toLocaleString('en')} bytes; this page takes up to ${FILE_LIMIT / 1048576} MiB.`,
    );
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (error) {
    throw new UserError(`${file.name} cannot be read: ${error.message}`);
  }
}

/* countLines: lines of a buffer; the last one counts when it is not empty. */
export function countLines(buffer) {
  let n = 0;
  for (let at = buffer.indexOf(10); at >= 0; at = buffer.indexOf(10, at + 1)) n += 1;
  return n + (buffer.length > 0 && buffer[buffer.length - 1] !== 10 ? 1 : 0);
}

/* takeLines: where n lines from byte `from` on end. */
export function takeLines(buffer, from, n) {
  let at = from;
  for (let i = 0; i < n; i += 1) {
    const next = buffer.indexOf(10, at);
    if (next < 0) return buffer.length;
    at = next + 1;
  }
  return at;
}
