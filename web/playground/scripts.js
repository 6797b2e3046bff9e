/*
 * scripts.js - explanations of the library as steps that the player shows: sentences and rings. Every
 * position and value in them comes from the library.
 */
import { MARK, readBits, writeBits } from './stage.js';
import { hashLine } from './tracing.js';

const hex = (value, nbits = 64) =>
  BigInt(value)
    .toString(16)
    .padStart(Math.ceil(nbits / 4), '0');

/* unitName: "cache line 3", for people. */
function unitName(step) {
  const names = {
    block: 'cache line',
    line: 'cache line',
    unit: 'unit',
    bucket: 'bucket',
    segment: 'segment',
    third: 'third',
    slot: 'slot',
  };
  return step.unit ? `${names[step.unit] ?? step.unit} ${step.unitIndex}` : '';
}

/* place: a bit as people find it in the picture: within its unit, or in the one array of a Bloom filter. */
function place(kind, step) {
  return kind === 'bloom' || !step.unit ? `bit ${step.bit}` : `${unitName(step)}, bit ${step.bit - step.unitBit}`;
}

/* slotName: which slot of its bucket, segment or third. */
export function slotName(step) {
  return `${unitName(step)}, slot ${Math.round((step.bit - step.unitBit) / step.nbits)}`;
}

/* found: what a step of a probe found, as a sentence. */
function found(kind, step) {
  const level =
    kind === 'scalable' ? `level ${step.level}, ` : kind === 'window' ? `generation of age ${step.level}, ` : '';
  switch (step.kind) {
    case 'bit': {
      const counted =
        kind === 'counting' && step.found
          ? `, ${step.counter} ${step.counter === 1 ? 'key holds' : 'keys hold'} it`
          : '';
      return `${level}${place(kind, step)} is ${step.found}${counted}`;
    }
    case 'fingerprint':
      if (step.found === 0n) return `${slotName(step)}: empty`;
      return `${slotName(step)}: ${hex(step.found, step.nbits)}${step.ok ? ', its fingerprint' : `, not ${hex(step.expected, step.nbits)}`}`;
    case 'slot':
      return `${slotName(step)} holds ${hex(step.found, step.nbits)}`;
    case 'xor':
      return `xor of the slots: ${hex(step.found, step.nbits)}; its fingerprint is ${hex(step.expected, step.nbits)}`;
    case 'column':
      return `column ${step.index}: the parity of the selected slots is ${step.found}, its fingerprint has ${step.expected}`;
    default:
      return step.ok ? 'says maybe to every key' : 'has no keys: nay';
  }
}

/* rings: the cells that a step reads. */
function rings(step) {
  const mark = step.ok ? MARK.ok : MARK.fail;
  if (step.kind === 'column') return columnBits(step).map((bit) => ({ bit, mark }));
  return step.nbits > 0 && step.kind !== 'xor' ? [{ bit: step.bit, mark }] : [];
}

/* columnBits: the bits of a column that the mask selects. */
function columnBits(step) {
  const out = [];
  const mask = BigInt(step.mask) | (BigInt(step.mask2) << 64n);
  for (let i = 0; i < step.nbits + step.nbits2; i += 1) {
    if ((mask >> BigInt(i)) & 1n) out.push(i < step.nbits ? step.bit + i : step.bit2 + i - step.nbits);
  }
  return out;
}

/* verdict: why the answer is what it is, in one line. */
export function verdict(kind, why) {
  if (why.maybe) {
    if (why.steps.length === 0) return why.reasonText;
    const one = {
      cuckoo: 'a slot has its fingerprint',
      xor: 'the xor is its fingerprint',
      fuse: 'the xor is its fingerprint',
      ribbon: 'every column agrees',
    };
    return why.steps[0].kind === 'bit' ? 'all of its bits are set' : (one[kind] ?? 'all of its bits are set');
  }
  const failed = why.steps.find((s) => !s.ok);
  if (!failed || failed.kind === 'constant') return why.reasonText;
  if (failed.kind === 'bit' && kind === 'ribbon') return `bit ${failed.bit} is 0, and one is enough to be certain`;
  const one = {
    cuckoo: 'no slot has its fingerprint',
    xor: 'the xor is not its fingerprint',
    fuse: 'the xor is not its fingerprint',
    ribbon: 'a column does not agree',
    scalable: 'in every level a bit is 0',
    window: 'in every generation a bit is 0',
  };
  return one[kind] ?? `${place(kind, failed)} is 0, and one is enough to be certain`;
}

/* askScript: a probe, step by step. */
export function askScript(kind, key, why) {
  const script = [hashLine(key, why)];
  let stopped = false;
  for (const step of why.steps) {
    const late = stopped && why.ngroups === 1 ? ' (a probe has stopped before)' : '';
    script.push({ text: found(kind, step) + late, marks: rings(step), keep: step.index > 0 || kind === 'cuckoo' });
    if (!step.ok) stopped = true;
  }
  script.push({ text: `${why.maybe ? 'Maybe' : 'Nay'}: ${verdict(kind, why)}.`, keep: true });
  return script;
}

/* settle: makes the last step write whatever else the payload has, so that the picture ends as the filter is. */
export function settle(script, stage, payload) {
  if (script.length === 0) return script;
  const copy = stage.shown.slice();
  for (const step of script) for (const w of step.writes ?? []) writeBits(copy, w.bit, w.nbits, w.value);
  const last = script[script.length - 1];
  const rest = [];
  for (const g of stage.groups) {
    for (let i = 0; i < g.ncells; i += 1) {
      const bit = g.base + i * g.width;
      const value = readBits(payload, bit, g.width);
      if (readBits(copy, bit, g.width) !== value) rest.push({ bit, nbits: g.width, value });
    }
  }
  last.writes = [...(last.writes ?? []), ...rest];
  script.untold = rest.length; /* cells that no step spoke of: tests want none */
  return script;
}
