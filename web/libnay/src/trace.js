import { refuse } from './error.js';

const RECORD = 48; // bytes: event, level, index, four words

/** How each field is read: a number, 64 bits, a boolean, two slots of 32 bits. */
const FIELDS = {
  n: Number,
  q: (word) => word,
  b: (word) => word !== 0n,
  s: (word) => [Number(word & 0xffffffffn), Number(word >> 32n)],
};

/** nay.trace of a trace module: runs something and returns the events that the library recorded meanwhile. */
function makeTrace(m) {
  const x = m.x;
  const kinds = [];
  for (let at = x.nayw_trace_events(); m.number(at) !== 0; at += 8) {
    const fields = m.text(m.number(at + 4)).split(' ').map((field) => field.split(':'));
    kinds.push({ name: m.text(m.number(at)), fields: fields.map(([name, type]) => [name, FIELDS[type]]) });
  }

  function event(at) {
    const { name, fields } = kinds[m.number(at)];
    const object = { event: name, level: m.number(at + 4), index: Number(m.u64[(at + 8) >>> 3]) };
    fields.forEach(([field, read], i) => { object[field] = read(m.u64[(at + 16 + 8 * i) >>> 3]); });
    return object;
  }

  function trace(run, { capacity = 65536 } = {}) {
    if (!Number.isSafeInteger(capacity) || capacity < 1 || capacity > 2 ** 24) refuse('capacity: not between 1 and 2^24');
    m.check(x.nayw_trace_start(capacity));
    try {
      const value = run();
      const total = x.nayw_trace_total();
      const lost = Math.max(0, total - capacity);
      const records = x.nayw_trace_records() >>> 0;
      const events = Array.from({ length: total - lost }, (_, i) => event(records + RECORD * ((lost + i) % capacity)));
      return { value, events, lost };
    } finally {
      x.nayw_trace_stop();
    }
  }
  trace.kinds = kinds.map(({ name, fields }) => ({ event: name, fields: fields.map(([field]) => field) }));
  return trace;
}
export { makeTrace };
