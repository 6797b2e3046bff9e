/*
 * tracing.js - the events that the library records while it works (src/base/trace.h), as steps of the
 * player: what changed, where it is in the picture, and a sentence. Nothing here decides anything:
 * which bit, which kick, which slot is peeled next, all of it is in the events.
 */
import { count } from './number.js';
import { shorten } from './dom.js';
import { MARK, readBits, writeBits } from './stage.js';

const hex = (value, nbits) =>
  BigInt(value)
    .toString(16)
    .padStart(Math.ceil(nbits / 4), '0');

/* hashLine: the first step of every script. */
export function hashLine(key, why) {
  const seed = why.seed ? `, seed ${why.seed}` : '';
  return { text: `\u201c${shorten(key)}\u201d hashes to ${hex(why.hash, 64)} (${why.hashKind}${seed})`, marks: [] };
}

/* Events of adds and removals: one function each, from the event and the stage to a step. */
const EVENTS = {
  bloomBit: (e) => bitStep('', e.bit, e.bit, e.fresh),
  blockBit: (e, stage) =>
    bitStep(
      `${e.level > 0 || stage.hasLevels ? `level ${e.level}, ` : ''}${stage.unitWord} ${e.block}, `,
      e.bit,
      stage.unit(e.level, e.block) + e.bit,
      e.fresh,
    ),
  counter: (e, stage) => {
    const bit = stage.unit(0, e.block) + e.bit;
    const text =
      e.count === 0 ? 'its counter becomes 0, and the bit too' : `its counter is now ${e.count === 15 ? '15 or more' : e.count}`;
    return {
      text: `${stage.unitWord} ${e.block}, bit ${e.bit}: ${text}`,
      marks: [{ bit, mark: MARK.changed }],
      writes: [{ bit, nbits: 1, value: e.count > 0 ? 1 : 0, fresh: e.count === 1 }],
      notes: [{ bit, text: e.count === 0 ? null : String(e.count) }],
    };
  },
  levelOpened: (e, stage) => ({
    text:
      e.index > 0
        ? `Level ${e.level} is full: it opens its second half, ${count(e.nblocks)} ${stage.unitWord}s`
        : `The levels are full: level ${e.level} opens, ${count(e.nblocks)} ${stage.unitWord}s for ${count(e.nkeys)} keys more`,
  }),
  windowBit: (e, stage, copy) => {
    const bit = stage.unit(0, e.unit) + e.bit;
    return bitStep(`generation ${e.generation}, unit ${e.unit}, `, e.bit, bit, readBits(copy, bit, 1) === 0);
  },
  windowExpired: (e, stage) => ({ text: expiryText(e), writes: expired(e, stage) }),
  cuckooKick: (e, stage, copy) => {
    const g = stage.groups[e.to];
    const from = slotBit(stage, e.from, e.slot);
    let slot = 0;
    while (slot < g.ncells - 1 && readBits(copy, slotBit(stage, e.to, slot), g.width) !== 0) slot += 1;
    const to = slotBit(stage, e.to, slot);
    return {
      text: `Both buckets of the key are full: ${hex(e.tag, g.width)} is kicked from bucket ${e.from} to bucket ${e.to}, its other one`,
      marks: [
        { bit: from, mark: MARK.fail },
        { bit: to, mark: MARK.changed },
      ],
      writes: [
        { bit: from, nbits: g.width, value: 0 },
        { bit: to, nbits: g.width, value: e.tag },
      ],
    };
  },
  cuckooPut: (e, stage) =>
    slotStep(
      stage,
      e,
      e.tag,
      `fingerprint ${hex(e.tag, stage.groups[0].width)} goes into bucket ${e.bucket}, slot ${e.slot}`,
    ),
  cuckooRemoved: (e, stage) =>
    slotStep(
      stage,
      e,
      0,
      `fingerprint ${hex(e.tag, stage.groups[0].width)} is taken out of bucket ${e.bucket}, slot ${e.slot}`,
    ),
  cuckooDoubled: (e) => ({ text: `The table is doubled to ${count(e.nbuckets)} buckets` }),
};

/* expiryText: which generations are emptied, and why nobody needs them. */
function expiryText(e) {
  const gone = [];
  for (let i = 0, g = BigInt(e.generations); g > 0n; i += 1, g >>= 1n) if (g & 1n) gone.push(i);
  const which = gone.length === 1 ? `Generation ${gone[0]}, the oldest, expires` : `Generations ${gone.join(', ')} expire`;
  return `${which}: the bits become 0, and generation ${e.newest} is the newest from now on`;
}

function bitStep(where, shown, bit, fresh) {
  return {
    text: `${where}bit ${shown} ${fresh ? 'becomes 1' : 'is 1 already'}`,
    marks: [{ bit, mark: MARK.changed }],
    writes: [{ bit, nbits: 1, value: 1, fresh }],
  };
}

function slotBit(stage, bucket, slot) {
  return stage.groups[bucket].base + slot * stage.groups[bucket].width;
}

function slotStep(stage, e, value, text) {
  const bit = slotBit(stage, e.bucket, e.slot);
  return { text, marks: [{ bit, mark: MARK.changed }], writes: [{ bit, nbits: stage.groups[e.bucket].width, value }] };
}

/* expired: the bits of the generations that a rotation clears; a cell of the unit has a bit for each of them. */
function expired(e, stage) {
  const writes = [];
  for (const g of stage.groups)
    for (let i = 0; i < g.ncells; i += 1)
      if ((e.generations >> BigInt(i % (g.hues ?? 1))) & 1n) writes.push({ bit: g.base + i, nbits: 1, value: 0 });
  return writes;
}

/*
 * changes: events as steps. `copy` is the payload as shown before them, and after them when this returns. The bits of
 * a key may be recorded before any of them is set: one that comes twice is fresh once.
 */
function changes(events, stage, copy) {
  const set = new Set();
  const counts = new Map(); /* bit of a counter -> what it was said to be */
  return events
    .filter((e) => EVENTS[e.event])
    .map((e, i) => {
      let step = EVENTS[e.event](e, stage, copy);
      const bit = e.fresh ? step.writes[0].bit : -1;
      if (set.has(bit)) step = EVENTS[e.event]({ ...e, fresh: false }, stage, copy);
      set.add(bit);
      if (e.event === 'counter') {
        const at = step.writes[0].bit;
        if (counts.get(at) === e.count)
          step = { text: `${stage.unitWord} ${e.block}, bit ${e.bit} again: a key counts once there`, marks: step.marks };
        counts.set(at, e.count);
      }
      for (const w of step.writes ?? []) writeBits(copy, w.bit, w.nbits, w.value);
      return { ...step, keep: i > 0 };
    });
}

/* addScript: an add or a removal, step by step. */
export function addScript(key, why, events, stage, done) {
  const steps = changes(events, stage, stage.shown.slice());
  const bits = steps.flatMap((s) => s.writes ?? []).filter((w) => w.fresh !== undefined);
  const fresh =
    bits.length > 0 && done === 'in' ? `: ${bits.filter((w) => w.fresh).length} of ${bits.length} bits are new` : '';
  if (steps.length === 0 && done === 'in')
    steps.push({ text: 'The filter says maybe to it already: nothing changes', keep: true });
  return [hashLine(key, why), ...steps, { text: `\u201c${shorten(key)}\u201d is ${done}${fresh}.`, keep: true }];
}

/* tickScript: time passes in a window. */
export function tickScript(clock, events, stage) {
  const steps = changes(events, stage, stage.shown.slice());
  const rest = steps.length === 0 ? ': no generation is full of time yet' : '';
  return [{ text: `The clock is told that it is ${clock}${rest}` }, ...steps];
}

/* unitOf: the cache line or unit in which bits are set, and the generation of a window. */
function unitOf(events, stage) {
  const e = events.find((x) => x.block !== undefined || x.unit !== undefined);
  if (!e) return '';
  const level = stage.hasLevels ? `level ${e.level}, ` : e.generation === undefined ? '' : `generation ${e.generation}, `;
  return `${level}${e.block === undefined ? `unit ${e.unit}` : `${stage.unitWord} ${e.block}`}, `;
}

/* addLines: many adds, one step for each; stale: done before the last level opened, in another layout. */
export function addLines(added, stage) {
  const copy = stage.shown.slice();
  const last = added.findLastIndex(({ events }) => events.some((e) => e.event === 'levelOpened'));
  return added.map(({ key, events }, at) => {
    const steps = changes(events, stage, copy);
    const kicks = events.filter((e) => e.event === 'cuckooKick').length;
    const special = events.find((e) => e.event === 'windowExpired' || e.event === 'levelOpened');
    const extra =
      kicks > 0
        ? `, after ${kicks} ${kicks === 1 ? 'kick' : 'kicks'}`
        : special
          ? `. ${EVENTS[special.event](special, stage, copy).text}`
          : '';
    const places = events.filter((e) => e.bit !== undefined).map((e) => e.bit);
    const put = events.find((e) => e.event === 'cuckooPut');
    const nothing = 'the filter says maybe to it already, and nothing changes';
    const where = put
      ? `bucket ${put.bucket}, slot ${put.slot}`
      : places.length > 0
        ? `${unitOf(events, stage)}bits ${places.join(', ')}`
        : nothing;
    return {
      text: `${shorten(key)}: ${where}${extra}`,
      stale: at < last,
      marks: steps.flatMap((s) => s.marks ?? []),
      writes: steps.flatMap((s) => s.writes ?? []),
      notes: steps.flatMap((s) => s.notes ?? []),
    };
  });
}

/* keyNames: keys by the word that events name them by. */
function keyNames(keys, filter) {
  const names = new Map();
  for (const key of keys) names.set(filter.explain(key).word, key);
  return (word) => (names.has(word) ? shorten(names.get(word), 24) : 'a key');
}

/* peelScript: an xor or fuse filter: keys take their slots, are peeled one by one, and get values in reverse. */
export function peelScript(events, keys, filter, stage) {
  const name = keyNames(keys, filter);
  const { base, width } = stage.groups[0];
  const at = (slot) => base + slot * width;
  const words = new Map(); /* mixed -> {word, slots} */
  const degree = new Map();
  const bump = (slot, by) => {
    degree.set(slot, (degree.get(slot) ?? 0) + by);
    return { bit: at(slot), text: degree.get(slot) > 0 ? String(degree.get(slot)) : null };
  };
  const of = (e) => words.get(e.mixed);
  const script = [];
  for (const e of events) {
    if (e.event === 'peelAttempt') {
      degree.clear();
      script.push({
        text: `${count(e.nkeys)} keys, ${count(e.slots)} slots. Each key has three or four of them; the numbers count the keys of a slot`,
        notes: [...words.values()].flatMap((w) => w.slots).map((s) => ({ bit: at(s), text: null })),
      });
    } else if (e.event === 'peelKey') {
      const slots = [...e.slots, ...e.more].filter((s) => s !== 0xffffffff);
      words.set(e.mixed, { word: e.word, slots });
      script.push({
        text: `${name(e.word)} has slots ${slots.join(', ')}`,
        marks: slots.map((s) => ({ bit: at(s), mark: MARK.ok })),
        notes: slots.map((s) => bump(s, 1)),
      });
    } else if (e.event === 'peelTake') {
      const { word, slots } = of(e);
      script.push({
        text: `Slot ${e.slot} has one key left, ${name(word)}: it is peeled off (${count(e.index + 1)} of ${count(words.size)})`,
        marks: slots.map((s) => ({ bit: at(s), mark: s === e.slot ? MARK.changed : MARK.unit })),
        notes: slots.map((s) => bump(s, -1)),
      });
    } else if (e.event === 'peelStuck') {
      script.push({ text: `${count(e.nkeys)} keys cannot be peeled: again, with another seed` });
    } else if (e.event === 'peelAssign') {
      const { word, slots } = of(e);
      script.push({
        text: `In reverse: ${name(word)} sets slot ${e.slot} to ${hex(e.value, width)}, so that the xor of its slots is its fingerprint`,
        marks: slots.map((s) => ({ bit: at(s), mark: s === e.slot ? MARK.changed : MARK.ok })),
        writes: [{ bit: at(e.slot), nbits: width, value: e.value }],
        notes: [{ bit: at(e.slot), text: null }],
      });
    }
  }
  script.push({ text: 'All slots are set. Ask for a key to see what it reads.' });
  return script;
}

/* bandScript: a ribbon: equations become the rows of a band, then the columns are solved from the last block to the first. */
export function bandScript(events, keys, filter, stage, band) {
  const name = keyNames(keys, filter);
  const script = [];
  let first = 0;
  let key = null;
  for (const e of events) {
    if (e.event === 'bandPart') {
      first = e.first;
      const before = { n: 0 };
      script.push({
        text: `${count(e.nkeys)} equations over ${count(e.nblocks * 128)} slots${e.last ? '' : `, part ${e.index}`}`,
        act: (on) => {
          if (on) {
            before.n = band.nslots;
            band.start(e.nblocks * 128);
          } else band.start(before.n);
        },
      });
    } else if (e.event === 'bandKey') {
      key = e;
      script.push({
        text: `${name(e.word)}: an equation over the 128 slots from ${e.start} on`,
        act: (on) => band.propose(on ? e : null),
      });
    } else if (e.event === 'bandRow') {
      const start = key?.start ?? e.slot;
      const how = e.slot === start ? 'it becomes' : 'rows that are there are added to it; it becomes';
      script.push({
        text: `${how} the row of slot ${e.slot}`,
        act: (on) => {
          band.propose(null);
          if (on) band.row(e.slot, e.low, e.high);
          else band.clear(e.slot);
        },
      });
    } else if (e.event === 'bandCleared') {
      let old = null;
      script.push({
        text: `The row of slot ${e.slot} is taken out again`,
        act: (on) => {
          if (on) {
            old = band.rows[e.slot];
            band.clear(e.slot);
          } else if (old) band.row(e.slot, old.low, old.high);
        },
      });
    } else if (e.event === 'bandBumped') {
      script.push({
        text: `${name(e.word)} finds no room: it is bumped to the next layer`,
        act: () => band.propose(null),
      });
    } else if (e.event === 'bandColumn') script.push(columnStep(e, first, stage, band));
  }
  script.push({
    text: 'All columns are solved. Ask for a key to see which bits it adds up.',
    act: () => band.solve(null),
  });
  return script;
}

/* columnStep: one column of a block of the solution. */
function columnStep(e, first, stage, band) {
  const g = stage.groups[first + e.block];
  const writes = [];
  const marks = [];
  for (let i = 0; g && i < Math.min(g.cols, 128); i += 1) {
    const bit = g.base + e.column * g.cols + i;
    if (bit >= g.base + g.ncells) break;
    const word = i < 64 ? e.low : e.high;
    writes.push({ bit, nbits: 1, value: Number((word >> BigInt(i % 64)) & 1n) });
    marks.push({ bit, mark: MARK.ok });
  }
  return {
    text: `Back substitution: block ${e.block}, column ${e.column} of the fingerprints is solved`,
    writes,
    marks: marks.slice(0, 1),
    act: (on) => band.solve(on ? e.block : null),
  };
}
