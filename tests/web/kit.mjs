// The cases of tests/conformance: fields, keys, files, and TAP. The runner is conformance.mjs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NayError, source } from './support.mjs';

const kit = join(source, 'tests/conformance');
export const read = (name) => new Uint8Array(readFileSync(join(kit, 'files', name)));
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (two) => parseInt(two, 16));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
export const text = (bytes) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
export const bits = (x) => new BigUint64Array(Float64Array.of(x).buffer)[0].toString(16).padStart(16, '0');
export const double = (bits) => new Float64Array(BigUint64Array.of(BigInt(`0x${bits}`)).buffer)[0];

/** The texts of PREFIX:FIRST:COUNT. */
export function keysOf(c, name = 'keys') {
  const [prefix, first, n] = c[name].split(':');
  return Array.from({ length: Number(n) }, (_, i) => `${prefix}${Number(first) + i}`);
}

/** A file, damaged as the case says. */
export function fileOf(c, name) {
  let bytes = read(c[name]);
  if (c.flip) bytes[c.flip >> 3] ^= 1 << (c.flip & 7);
  if (c.cut) bytes = bytes.slice(0, Number(c.cut));
  return c.append ? Uint8Array.of(...bytes, 0) : bytes;
}

/** Answer i is bit i. */
export function bitmap(answers) {
  const map = new Uint8Array(Math.ceil(answers.length / 8));
  answers.forEach((maybe, i) => { map[i >> 3] |= maybe << (i & 7); });
  return hex(map);
}

/** The answer, or the name of the status that an operation throws. */
function answered(operation, c) {
  try {
    return operation(c);
  } catch (error) {
    if (!(error instanceof NayError)) throw error;
    return error.statusName;
  }
}

/** Prints TAP; skipped: why a case is left out, or ''. */
export function run(operations, skipped) {
  let n = 0, failed = 0;
  for (const line of readFileSync(join(kit, 'vectors.jsonl'), 'utf8').trim().split('\n')) {
    const c = JSON.parse(line);
    n++;
    if (skipped(c)) {
      console.log(`ok ${n} - ${c.name} # SKIP ${skipped(c)}`);
      continue;
    }
    const got = answered(operations[c.op], c);
    const want = c.want.startsWith('@') ? hex(read(c.want.slice(1))) : c.want;
    const same = (typeof got === 'string' ? got : hex(got)) === want;
    if (!same) failed++;
    console.log(`${same ? 'ok' : 'not ok'} ${n} - ${c.name}`);
    if (!same) console.log(`# got ${String(got).slice(0, 200)}, not ${want.slice(0, 200)}`);
  }
  console.log(`1..${n}`);
  process.exitCode = failed > 0 || n === 0 ? 1 : 0;
}
