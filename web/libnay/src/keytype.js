import { refuse } from './error.js';
import { checkWellFormed, convert } from './keys.js';
import { bytesOf } from './memory.js';

/*
 * Keys of filters, maps and tables that state how their keys were made (a key description, nay_key.h). A string
 * is a text, which the module converts or refuses. Bytes are a key as it is: of the types whose keys have one
 * length, bytes of another length are a text in disguise, and refused.
 */
const NBYTES = { int: 8, float: 8, bool: 8, date: 8, timestamp: 8, uuid: 16 };

/** The type of a description, without its transformations. */
const typeAlone = (type) => type.split(',')[0];

function checkLength(type, length) {
  const wanted = NBYTES[typeAlone(type)] ?? length;
  if (length !== wanted) {
    refuse(`the key has ${length} bytes, and keys of type ${type} have ${wanted}: give a text as a string`);
  }
}

/** A key for a filter of this type; what is no filter, and has none, is refused later. Keys.put refuses numbers. */
function typedKey(m, type, key) {
  if (type === 'text' || type === undefined) return key;
  if (typeof key === 'string') {
    checkWellFormed(key);
    return convert(m, type, m.encoder.encode(key));
  }
  if (typeof key === 'object' && key !== null) checkLength(type, bytesOf(key, 'the key').length);
  return key;
}

/** The keys of lines: each is a text, also where all are bytes. */
function typedLines(m, type, { lines, delimiter }) {
  if (typeof lines === 'string') checkWellFormed(lines);
  const all = typeof lines === 'string' ? m.encoder.encode(lines) : bytesOf(lines, 'keys');
  const keys = [];
  for (let at = 0; at < all.length;) {
    const found = all.indexOf(delimiter, at);
    const end = found < 0 ? all.length : found;
    keys.push(convert(m, type, all.subarray(at, end)));
    at = end + 1;
  }
  return keys;
}

/** A batch (filter.js) of keys for a filter of this type. */
function typedBatch(m, type, batch) {
  if (type === 'text' || type === undefined || batch.hashes) return batch;
  if (batch.offsets) {
    for (let i = 0; i < batch.n; i++) checkLength(type, batch.offsets[i + 1] - batch.offsets[i]);
    return batch;
  }
  if (batch.lines !== undefined) return { keys: typedLines(m, type, batch) };
  return { keys: batch.keys.map((key) => typedKey(m, type, key)) };
}

const NOTATIONS = ['bytes', 'hex', 'b64'];

/** A type that a filter, map or table can state. It would convert no string by a notation: it states text then. */
function checkType(type) {
  if (typeof type !== 'string') refuse('keyType: not a string');
  if (NOTATIONS.includes(typeAlone(type))) refuse(`keyType: ${type} is a notation of text: decode the keys, and give bytes`);
}

/** The parameters without keyType, and that: 'text' when there is none. */
function splitType(params) {
  if (params === null || typeof params !== 'object') return { type: 'text', rest: params };
  const { keyType, ...rest } = params;
  if (keyType !== undefined) checkType(keyType);
  return { type: keyType ?? 'text', rest };
}

export { typedKey, typedBatch, splitType, checkType };
