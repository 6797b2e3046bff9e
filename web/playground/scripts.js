/*
 * scripts.js - explanations of the library as steps that the player shows: sentences and rings. Every
 * position and value in them comes from the library.
 */
import { MARK, readBits, writeBits } from './stage.js';
import { hashLine } from './tracing.js';
import { shorten } from './dom.js';
import { unitWord } from './groups.js';

const hex = (value, nbits = 64) =>
  BigInt(value)
    .toString(16)
    .padStart(Math.ceil(nbits / 4), '0');

/* unitName: "cache line 3", for people. */
function unitName(step) {
  return step.unit ? `${unitWord(step.unit, step.unitNbits)} ${step.unitIndex}` : '';
}

/* place: a bit as people find it in the picture: within its unit, or in the one array of a Bloom filter. */
function place(step) {
  return inArray(step) ? `bit ${arrayBit(step)}` : `${unitName(step)}, bit ${step.bit - step.unitBit}`;
}

/* inArray: whether a bit belongs to one array, which is not cut into units; arrayBit: where it is there. */
export function inArray(step) {
  return step.unit === 'line' || !step.unit;
}

export function arrayBit(step) {
  return step.unitIndex * 512 + step.bit - step.unitBit;
}

/* slotName: which slot of its bucket, segment or third. */
export function slotName(step) {
  return `${unitName(step)}, slot ${Math.round((step.bit - step.unitBit) / step.nbits)}`;
}

/* levelName: a level, or the generation of a window: its number in the picture if that is known, and its age. */
function levelName(step, about) {
  if (!about.expires) return `level ${step.level}`;
  const number = about.newest === null ? '' : ` ${(about.newest - step.level + about.levels) % about.levels},`;
  return `generation${number} of age ${step.level}`;
}

/*
 * found: what a step of a probe found, as a sentence. about is made by aboutOf: how many levels of
 * groups the filter has, and what they are called.
 */
function found(step, about) {
  const level = about.levels > 1 || about.grows ? `${levelName(step, about)}, ` : '';
  switch (step.kind) {
    case 'bit': {
      const counted =
        step.counter > 0 && step.found
          ? `, its counter is ${step.counter === 15 ? '15 or more, or stuck' : step.counter}`
          : '';
      return `${level}${place(step)} is ${step.found}${counted}`;
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
    case 'value':
      return `${slotName(step)} holds a location that ends in ${hex(step.found, step.nbits)}${step.ok ? ', as the key\u2019s does' : `; the key\u2019s ends in ${hex(step.expected, step.nbits)}`}`;
    default:
      return step.ok ? 'says maybe to every key' : 'has no keys: nay';
  }
}

/* locationLine: the first step of a range filter, which keeps near numbers near: its steps have no hash of the key. */
function locationLine(key, why) {
  const read = why.steps.some((s) => s.kind !== 'constant');
  const text = read ? `has the location ${BigInt(why.word).toLocaleString('en')}` : 'has no location that could be stored';
  return { text: `\u201c${shorten(key)}\u201d ${text}`, marks: [] };
}

/* rings: the cells that a step reads. */
export function rings(step) {
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
export function verdict(about, why) {
  const read = why.steps.find((s) => s.kind !== 'constant');
  if (!read || (why.maybe && why.steps[why.steps.length - 1].kind === 'constant')) return why.reasonText;
  const kind = why.steps.some((s) => s.kind === 'xor') ? 'xor' : read.kind;
  if (why.maybe)
    return (
      {
        bit: 'all of its bits are set',
        fingerprint: 'a slot has its fingerprint',
        xor: 'the xor of its slots is its fingerprint',
        column: 'every column agrees',
        value: 'it stores the location of the key',
      }[kind] ?? why.reasonText
    );
  const failed = why.steps.find((s) => !s.ok);
  if (!failed || failed.kind === 'constant') return why.reasonText;
  if (kind === 'bit' && about.levels > 1) return `in every ${about.expires ? 'generation' : 'level'} a bit is 0`;
  return (
    {
      bit: `${place(failed)} is 0, and one is enough to be certain`,
      fingerprint: 'no slot has its fingerprint',
      xor: 'the xor of its slots is not its fingerprint',
      column: 'a column does not agree',
      value: 'it does not store the location of the key',
    }[kind] ?? why.reasonText
  );
}

/* aboutOf: what sentences about an explanation need to know of its filter; newest: of a window, if it is known. */
export function aboutOf(traits, why, newest = null) {
  const levels = new Set(why.steps.map((s) => s.level));
  const bits = why.steps.every((s) => s.kind === 'bit');
  return { levels: bits ? levels.size : 1, grows: bits && traits.grow, expires: traits.expire, newest, ranges: traits.range };
}

/* needed: the steps until the answer is decided. */
export function needed(why) {
  const failed = new Set();
  return why.steps.filter((step) => {
    if (failed.has(step.group) || (why.maybe && step.group > why.group)) return false;
    if (!step.ok) failed.add(step.group);
    return true;
  });
}

/*
 * askScript: a probe, step by step. Of a group that has failed nothing more is needed, nor of any group once one has
 * matched: those steps are listed, and have no ring.
 */
export function askScript(about, key, why) {
  const script = [about.ranges ? locationLine(key, why) : hashLine(key, why)];
  const wanted = new Set(needed(why));
  for (const step of why.steps) {
    const decided = !wanted.has(step);
    const text = found(step, about) + (decided ? ' (not needed: the answer is decided)' : '');
    const keep = step.index > 0 || step.kind === 'fingerprint';
    script.push(decided ? { text, keep, decided } : { text, marks: rings(step), keep });
  }
  script.push({ text: `${why.maybe ? 'Maybe' : 'Nay'}: ${verdict(about, why)}.`, keep: true });
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
