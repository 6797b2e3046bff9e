/*
 * engine.js - the library, as the views use it: libnay's classes, with keys in batches of lines.
 * There is no arithmetic of filters in this page beyond these calls.
 */
import { load } from 'libnay';
import { spend } from './frames.js';

const MEMORY = 1 << 30; /* bytes that the library may use: a page should leave some for others */

export async function startEngine(wasm) {
  const nay = await load({ wasm, full: true, maxMemory: MEMORY });
  return new Engine(nay);
}

/* ofKeys: whether keys, their number and an FPR are all that a family needs. A range filter also needs ranges. */
function ofKeys(nay, kind) {
  try {
    nay.Filter.plan({ kind, nkeys: 100, fpr: 0.1 });
    return true;
  } catch {
    return false;
  }
}

class Engine {
  constructor(nay) {
    this.nay = nay;
    this.version = nay.version;
    this.kinds = nay.kinds.filter((kind) => ofKeys(nay, kind)).map((name) => ({ name, traits: nay.traits(name) }));
    this.formats = nay.formats.list();
  }

  traits(kind) {
    return this.kinds.find((f) => f.name === kind).traits;
  }

  /* takes: what of a plan a family can be told: probes per key, bits per key, the size in bits. */
  takes(kind) {
    const can = (params, name) => {
      try {
        const plan = this.plan({ kind, nkeys: 1000, ...params });
        return name === null || plan[name] === params[name];
      } catch {
        return false;
      }
    };
    return {
      k: [3, 4].every((k) => can({ fpr: 0.01, k }, 'k')),
      bitsPerKey: can({ bitsPerKey: 32 }, null),
      nbits: can({ nbits: 1 << 16 }, null),
    };
  }

  plan(params) {
    return this.nay.Filter.plan(params);
  }

  create(params) {
    return wrap(this.nay.Filter.create(params));
  }

  /* build: from an array of keys, or from lines in one buffer. */
  build(keys, params) {
    return wrap(this.nay.Filter.build(keys, params));
  }

  /* record: runs something; {value, events} of what the library did meanwhile. */
  record(run, capacity = 1024) {
    return this.nay.trace(run, { capacity });
  }

  /* createAs: an empty filter in another system's layout. */
  createAs(format, params) {
    return wrap(this.nay.formats.create(format, params));
  }

  buildAs(format, keys, params) {
    return wrap(this.nay.formats.build(format, keys, params));
  }

  encodeAs(format, filter) {
    return this.nay.formats.encode(format, filter);
  }

  openFilter(format, bytes) {
    return wrap(this.nay.formats.open(format, bytes));
  }

  openMap(bytes) {
    return this.nay.StaticMap.open(bytes);
  }

  buildMap(pairs, params) {
    return this.nay.StaticMap.build(pairs, params);
  }

  recogniseFilter(bytes) {
    return this.nay.formats.recognise(bytes);
  }

  isTable(bytes) {
    return this.nay.TableFilters.recognise(bytes);
  }

  openTableFilters(bytes) {
    return this.nay.TableFilters.open(bytes);
  }

  openTable(bytes) {
    return this.nay.Table.open(bytes);
  }

  caveat(filter) {
    return this.nay.formats.caveat(filter);
  }
}

/* wrap: two more calls on a filter. */
function wrap(filter) {
  filter.addLines = (lines) => {
    const n = filter.addMany(lines);
    spend('keys', n);
    return n;
  };
  filter.countMaybes = (lines) => {
    const answers = filter.hasMany(lines);
    spend('probes', answers.length);
    let n = 0;
    for (let i = 0; i < answers.length; i += 1) n += answers[i];
    return n;
  };
  return filter;
}
