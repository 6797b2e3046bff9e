import { EFORMAT, EINVAL, ENOENT, ENOTSUP, optionsOf, refuse } from './error.js';
import { checkType, splitType, typedBatch, typedKey } from './keytype.js';
import { Handle, OWN, SUMMARY, SUMMARY_BYTES, bytesOf, liveOf } from './memory.js';
import { MAP, word } from './struct.js';

const TRAITS = { add: 1, remove: 2, merge: 4, intersect: 8, fold: 16, count: 32, grow: 64, expire: 128, range: 512 };

/** An object of the library without the fields that only a map has, and, where it is none, those of a range filter. */
function notOfMaps({ valueBits, checkBits, ...rest }) {
  if (rest.kind === 'range') return rest;
  const { rangeLength, rangeKeys, rangeDelimiter, rangeBlock, rangeExact, rangeShift, ...others } = rest;
  return others;
}

/** Key types whose bytes are not in the order of their values: a range of bytes is none of values. */
const UNORDERED = ['int', 'float', 'bool', 'date', 'timestamp', 'numeric'];

const ORDERED = ['int', 'float', 'date', 'timestamp'];
const RANGE_KEYS = ['be8', 'be4', 'decimal']; // nay_range_keys

/** Parameters of a range filter, as the command chooses what they leave open: numbers are ordered keys, texts end in digits. */
function rangeForm(params) {
  if (params?.kind !== 'range') return params;
  const { keyType = 'text', rangeKeys, ...rest } = params;
  const [type, ...transformations] = String(keyType).split(',');
  const known = RANGE_KEYS.indexOf(rangeKeys);
  if (rangeKeys !== undefined && known < 0) refuse(`rangeKeys: there are ${listed(RANGE_KEYS)}`);
  if (ORDERED.includes(type) || type.startsWith('ordered-')) {
    if (known > 0 || rest.rangeDelimiter) refuse('rangeKeys, rangeDelimiter: these keys have a type');
    return { ...rest, keyType: [type.startsWith('ordered-') ? type : `ordered-${type}`, ...transformations].join(',') };
  }
  if (known >= 0) return { ...rest, keyType, rangeKeys: known };
  if (type !== 'text') refuse(`rangeKeys: how keys of type ${type} end in a number: ${listed(RANGE_KEYS)}`);
  return { ...rest, keyType, rangeKeys: RANGE_KEYS.indexOf('decimal') };
}

/** Bytes for a range filter whose keys the caller said are of a type without order: its keys are others, nays for ever. */
function refuseBytes({ keys, offsets }, asked, type) {
  if (offsets === undefined && !keys?.some((key) => typeof key === 'object' && key !== null)) return;
  refuse(`keyType: this range filter has keys of type ${type}, and bytes of type ${asked} are none: give texts, or keyType '${type}'`);
}

/*
 * A batch of hashes in the module's memory: room for n of them, `hi` where the layout needs two words.
 * Calls `use` and releases it.
 */
function withHashes(m, filter, n, use) {
  const two = m.x.nay_filter_kind(filter) === 0; // another system's layout
  return m.with(Math.max(8 * n * (two ? 2 : 1), 8), (lo) => use(lo, two ? lo + 8 * n : 0));
}

/** What a batch takes: an array of keys; lines in one buffer; keys in one buffer with their offsets. */
function batchOf(keys, options) {
  const { offsets, delimiter } = optionsOf(options, ['offsets', 'delimiter']);
  if (offsets !== undefined) {
    if (delimiter !== undefined) refuse('delimiter: keys with offsets have none');
    return batchOfOffsets(bytesOf(keys, 'keys'), offsets);
  }
  if (typeof keys === 'string' || keys instanceof ArrayBuffer || keys instanceof Uint8Array) {
    const byte = delimiter ?? 10;
    if (!Number.isInteger(byte) || byte < 0 || byte > 255) refuse('delimiter: not a byte');
    return { lines: keys, delimiter: byte };
  }
  if (delimiter !== undefined) refuse('delimiter: only lines have one, not an array of keys');
  if (keys instanceof BigUint64Array) return { hashes: keys, n: keys.length };
  if (typeof keys?.[Symbol.iterator] !== 'function') refuse('keys: neither an array nor bytes');
  return { keys: Array.isArray(keys) ? keys : [...keys] };
}

function batchOfOffsets(bytes, offsets) {
  if (!(offsets instanceof Uint32Array) || offsets.length === 0) refuse('offsets: not a Uint32Array of n + 1');
  for (let i = 1; i < offsets.length; i++) if (offsets[i] < offsets[i - 1]) refuse('offsets: they descend', i);
  if (offsets[offsets.length - 1] > bytes.length) refuse('offsets: the last is above the length of the bytes');
  return { bytes, offsets, n: offsets.length - 1 };
}

/** Lines of a text or of bytes, in the module's memory. */
function withLines(m, keys, { lines, delimiter }, use) {
  if (typeof lines === 'string') {
    keys.done();
    const len = keys.putOther(lines);
    try {
      return use(keys.at, len, m.x.nayw_count_lines(keys.at, len, delimiter));
    } finally {
      keys.done();
    }
  }
  const bytes = bytesOf(lines, 'keys');
  return m.with(bytes.length + 1, (at) => {
    m.u8.set(bytes, at);
    return use(at, bytes.length, m.x.nayw_count_lines(at, bytes.length, delimiter));
  });
}

/** Keys with offsets, in the module's memory. */
function withOffsets(m, { bytes, offsets }, use) {
  const start = Math.ceil((bytes.length + 1) / 16) * 16;
  return m.with(start + 4 * offsets.length, (at) => {
    m.u8.set(bytes, at);
    m.u32.set(offsets, (at + start) >>> 2);
    return use(at, at + start);
  });
}

/*
 * Hashes a whole batch, then calls use(lo, hi, n): nothing has changed until all keys are hashed. Reading a key
 * may run code of the caller, which may free the filter: filter() checks that before each call.
 */
function withBatch(m, keys, filter, batch, use) {
  if (batch.hashes) {
    return withHashes(m, filter(), batch.n, (lo, hi) => {
      m.u64.set(batch.hashes, lo >>> 3);
      return use(lo, hi, batch.n);
    });
  }
  if (batch.lines !== undefined) {
    return withLines(m, keys, batch, (at, len, n) => withHashes(m, filter(), n, (lo, hi) => {
      m.check(m.x.nayw_hash_lines(filter(), at, len, batch.delimiter, lo, hi));
      return use(lo, hi, n);
    }));
  }
  if (batch.offsets) {
    return withOffsets(m, batch, (at, offsets) => withHashes(m, filter(), batch.n, (lo, hi) => {
      m.check(m.x.nayw_hash_packed(filter(), at, offsets, batch.n, lo, hi));
      return use(lo, hi, batch.n);
    }));
  }
  const n = batch.keys.length;
  return withHashes(m, filter(), n, (lo, hi) => {
    keys.packed(batch.keys, (at, offsets, some, first) => {
      const to = lo + 8 * first;
      m.check(m.x.nayw_hash_packed(filter(), at, offsets, some, to, hi === 0 ? 0 : hi + 8 * first));
    });
    return use(lo, hi, n);
  });
}

/** A batch of adds that fails says how many keys it took. */
function addAll(m, filter, lo, hi, n, bitmap) {
  const status = m.x.nay_filter_add_hash_many(filter, lo, hi, n, bitmap, m.cell);
  if (status >= 0) return status;
  const taken = m.u32[m.cell >>> 2];
  try {
    return m.check(status);
  } catch (error) {
    error.taken = taken;
    throw error;
  }
}

/** Calls fill(bitmap) and returns the answers: a Uint8Array of n times 0 or 1. */
function answers(m, n, fill) {
  const words = Math.ceil(n / 64);
  return m.with(8 * words + n + 8, (bitmap) => {
    m.check(fill(bitmap));
    m.x.nayw_spread(bitmap, n, bitmap + 8 * words);
    return m.copyOut(bitmap + 8 * words, n);
  });
}

/** Adds a batch to a builder that fill() adds packed keys, lines or hashes to. */
function feedBuilder(m, keys, builder, batch) {
  const x = m.x;
  if (batch.hashes) {
    m.with(8 * batch.n + 8, (lo) => {
      m.u64.set(batch.hashes, lo >>> 3);
      m.check(x.nayw_builder_hashes(builder, lo, batch.n));
    });
  } else if (batch.lines !== undefined) {
    withLines(m, keys, batch, (at, len) => m.check(x.nayw_builder_lines(builder, at, len, batch.delimiter)));
  } else if (batch.offsets) {
    withOffsets(m, batch, (at, offsets) => m.check(x.nayw_builder_packed(builder, at, offsets, batch.n)));
  } else {
    keys.packed(batch.keys, (at, offsets, n) => m.check(x.nayw_builder_packed(builder, at, offsets, n)));
  }
}

const article = (kind) => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
const listed = (names) => names.join(', ').replace(/, ([^,]*)$/, names.length > 2 ? ', and $1' : ' and $1');

/** The class Filter of one instance of the module. */
function makeFilter(m, structs, keys) {
  const x = m.x;
  const mayContain = x.nay_filter_may_contain;
  const addKey = x.nayw_add;

  /** Keys of an array: each piece is hashed and probed by one call. */
  const hasEach = (filter, all) => {
    const total = all.length; // reading a key may change it
    return m.with(total + 1, (to) => {
      keys.packed(all, (at, offsets, n, first) => m.check(x.nayw_test_packed(filter(), at, offsets, n, to + first)));
      return m.copyOut(to, total);
    });
  };

  /** Writes a key into the module's memory, converted where the filter states a type; returns its length. */
  const put = (filter, key) => keys.put(filter?.type === 'text' ? key : typedKey(m, filter?.type, key));
  const batch = (filter, items, options) => typedBatch(m, filter?.type, batchOf(items, options));

  /** A new filter states its key type, or does not stay. */
  const stating = (filter, type) => {
    try {
      if (type !== 'text') filter.keyType = type;
      return filter;
    } catch (error) {
      filter.free();
      throw error;
    }
  };

  /** What to do where the kind of a filter has no such call. */
  const instead = (kind, call, trait) => {
    if (kind === 'auto') return `${call}: filters in another system's layout cannot`;
    if (trait === 'add') return `${call}: ${article(kind)} filter takes no adds: Filter.build makes it of all keys at once`;
    const others = [...structs.names.kinds.keys()].filter((name) => !/^(auto|map)/.test(name)
      && (name !== 'range' || trait === 'range') && traitsOf(x.nay_kind_traits(structs.names.kindNumber(name)))[trait]);
    return `${call}: ${article(kind)} filter cannot; ${listed(others)} can`;
  };

  /** Runs a call; an error because of the filter's kind says which kinds can. */
  const ofKind = (filter, call, trait, run) => {
    try {
      return run();
    } catch (error) {
      if (error.status === ENOTSUP && filter.ptr && !filter.traits[trait]) error.message = instead(filter.kind, call, trait);
      throw error;
    }
  };

  class Filter extends Handle {
    constructor(own, ptr) {
      super(own, m, ptr, x.nay_filter_free);
      this.type = m.text(x.nay_filter_key(ptr));
    }

    /** For console.log. */
    [SUMMARY]() {
      const size = x.nay_filter_encoded_size(live(this)) >>> 0;
      if (size > SUMMARY_BYTES) return `${this.kind}, ${size} bytes`; // an estimate reads all of them
      const { nkeys, nkeysEstimated, fprNow } = this.stats();
      const many = Number.isNaN(nkeysEstimated) ? [] : [`${Math.round(nkeysEstimated)} keys${nkeys ? ` of ${nkeys}` : ''}`];
      const rate = Number.isNaN(fprNow) ? [] : [`FPR ${Number((100 * fprNow).toPrecision(2))}%`];
      return [this.kind === 'auto' ? 'another layout' : this.kind, ...many, ...rate, ...size ? [`${size} bytes`] : []].join(', ');
    }

    // ---- making ----

    static plan(params) {
      return structs.input('params', splitType(params).rest, (p) => structs.output('plan', (plan) => {
        m.u32[m.diag >>> 2] = 0;
        m.check(x.nay_params_plan(p, m.diag, plan), m.diag);
      }));
    }

    static create(params) {
      const { type, rest } = splitType(params);
      const make = (p) => m.make((diag, out) => x.nay_filter_new(p, 0, diag, out));
      return stating(new Filter(OWN, structs.input('params', rest, make)), type);
    }

    static build(items, params, options) {
      const { type, rest } = splitType(rangeForm(params));
      const make = (p) => m.make((diag, out) => x.nay_builder_new(p, 0, diag, out));
      return Filter.finish(structs.input('params', rest, make), items, options, type, params?.keyType);
    }

    /** Feeds a builder, makes the filter of it, and frees it. */
    static finish(builder, items, options, type = 'text', asked = type) {
      try {
        const all = batchOf(items, options);
        if (asked !== type) refuseBytes(all, asked, type);
        feedBuilder(m, keys, builder, typedBatch(m, type, all));
        return stating(new Filter(OWN, m.make((diag, out) => x.nay_builder_finish(builder, diag, out))), type);
      } finally {
        x.nay_builder_free(builder);
      }
    }

    static open(bytes) {
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      try {
        const filter = new Filter(OWN, m.make((diag, out) => x.nay_filter_decode(at, from.length, 0, diag, out)));
        if (x.nay_filter_kind(live(filter)) !== MAP) return filter;
        filter.free(); // a static map
        return m.check(EFORMAT);
      } finally {
        m.free(at);
      }
    }

    /** How keys are made of strings: 'int', 'date', ...; 'text': a string is its UTF-8. */
    get keyType() {
      live(this);
      return this.type;
    }

    set keyType(type) {
      checkType(type);
      m.check(m.withText(type, (at) => x.nay_filter_set_key(live(this), at)));
      this.type = m.text(x.nay_filter_key(live(this)));
    }

    copy() {
      return new Filter(OWN, m.make((diag, out) => x.nay_filter_copy(live(this), 0, diag, out)));
    }

    // ---- keys ----

    add(key) {
      const len = put(this, key);
      const isNew = addKey(live(this), keys.at, len);
      keys.done();
      if (isNew < 0) ofKind(this, 'add', 'add', () => m.check(isNew));
      return isNew !== 0;
    }

    has(key) {
      const len = put(this, key);
      const maybe = mayContain(live(this), keys.at, len);
      keys.done();
      return maybe !== 0;
    }

    hasRange(lo, hi) {
      if (UNORDERED.includes(live(this) && this.type.split(',')[0])) {
        refuse(`hasRange: keys of type ${this.type} are not in the order of their values: ordered-int and so on are`);
      }
      const loLen = put(this, lo);
      const from = m.copyIn(m.u8.subarray(keys.at, keys.at + loLen));
      keys.done();
      try {
        const len = put(this, hi);
        const status = x.nay_filter_may_contain_range(live(this), from, loLen, keys.at, len, m.cell);
        keys.done();
        if (status === EINVAL) refuse('hasRange: the first end is above the second');
        ofKind(this, 'hasRange', 'range', () => m.check(status));
        return m.u8[m.cell] !== 0;
      } finally {
        m.free(from);
      }
    }

    remove(key) {
      const len = put(this, key);
      const status = x.nay_filter_remove(live(this), keys.at, len);
      keys.done();
      if (status === ENOENT) return false;
      ofKind(this, 'remove', 'remove', () => m.check(status));
      return true;
    }

    count(key) {
      const len = put(this, key);
      const status = x.nay_filter_count(live(this), keys.at, len, m.cell);
      keys.done();
      ofKind(this, 'count', 'count', () => m.check(status));
      return Number(m.u64[m.cell >>> 3]);
    }

    hash(key) {
      const len = put(this, key);
      const status = x.nayw_hash(live(this), keys.at, len, m.cell);
      keys.done();
      m.check(status);
      return m.u64[m.cell >>> 3];
    }

    // ---- batches ----

    addMany(items, options) {
      const filter = () => live(this);
      return withBatch(m, keys, filter, batch(this, items, options), (lo, hi, n) => {
        ofKind(this, 'addMany', 'add', () => addAll(m, filter(), lo, hi, n, 0));
        return n;
      });
    }

    addManyNew(items, options) {
      const filter = () => live(this);
      return withBatch(m, keys, filter, batch(this, items, options),
        (lo, hi, n) => answers(m, n, (bitmap) => ofKind(this, 'addManyNew', 'add', () => addAll(m, filter(), lo, hi, n, bitmap))));
    }

    hasMany(items, options) {
      const filter = () => live(this);
      const all = batch(this, items, options);
      if (all.keys) return hasEach(filter, all.keys);
      return withBatch(m, keys, filter, all,
        (lo, hi, n) => answers(m, n, (bitmap) => x.nay_filter_may_contain_hash_many(filter(), lo, hi, n, bitmap)));
    }

    hashMany(items, options) {
      return withBatch(m, keys, () => live(this), batch(this, items, options),
        (lo, hi, n) => m.u64.slice(lo >>> 3, (lo >>> 3) + n));
    }

    removeHash(hash) {
      const status = x.nayw_remove_hash(live(this), word(hash, 'hash'), 0n);
      if (status === ENOENT) return false;
      ofKind(this, 'removeHash', 'remove', () => m.check(status));
      return true;
    }

    // ---- as a whole ----

    merge(other, options) {
      const { maxFpr = 1 } = optionsOf(options, ['maxFpr']);
      if (typeof maxFpr !== 'number') refuse('maxFpr: not a number');
      ofKind(this, 'merge', 'merge', () => m.checked((diag) => x.nay_filter_merge(live(this), live(other), maxFpr, diag)));
      return this;
    }

    intersect(other) {
      ofKind(this, 'intersect', 'intersect',
        () => m.checked((diag) => x.nay_filter_intersect(live(this), live(other), diag)));
      return this;
    }

    overlap(other) {
      return structs.output('overlap', (at) => m.checked((diag) => x.nay_filter_overlap(live(this), live(other), diag, at)));
    }

    fold(factor) {
      ofKind(this, 'fold', 'fold', () => m.checked((diag) => x.nay_filter_fold(live(this), word(factor, 'factor'), diag)));
      return this;
    }

    foldFactor(maxFpr) {
      if (typeof maxFpr !== 'number') refuse('maxFpr: not a number');
      ofKind(this, 'foldFactor', 'fold', () => m.check(x.nay_filter_fold_factor(live(this), maxFpr, m.cell)));
      return Number(m.u64[m.cell >>> 3]);
    }

    shrink(nbytes) {
      m.check(x.nay_filter_shrink(live(this), word(nbytes, 'nbytes')));
      return this;
    }

    advance(now) {
      ofKind(this, 'advance', 'expire', () => m.check(x.nay_filter_advance(live(this), word(now, 'now'))));
      return this;
    }

    clear() {
      m.check(x.nay_filter_clear(live(this)));
      return this;
    }

    unlock(key) {
      if (!(key instanceof Uint8Array) || key.length !== 16) refuse('key: not a Uint8Array of 16 bytes');
      m.u8.set(key, m.room);
      m.check(x.nay_filter_unlock(live(this), m.room));
      return this;
    }

    get kind() {
      return structs.names.kindName(x.nay_filter_kind(live(this)));
    }

    get traits() {
      return traitsOf(x.nay_kind_traits(x.nay_filter_kind(live(this))));
    }

    stats() {
      return notOfMaps(structs.output('stats', (at) => m.check(x.nay_filter_stats(live(this), at))));
    }

    params() {
      const all = structs.output('params', (at) => m.check(x.nay_filter_params(live(this), at)));
      const params = notOfMaps(structs.paramsOf(all));
      return this.type === 'text' ? params : { ...params, keyType: this.type };
    }

    get meta() {
      const at = x.nay_filter_meta(live(this), m.cell);
      return at === 0 ? null : m.copyOut(at, m.number(m.cell));
    }

    set meta(bytes) {
      const from = bytes === null ? new Uint8Array(0) : bytesOf(bytes, 'meta');
      const at = m.copyIn(from);
      try {
        m.check(x.nay_filter_set_meta(live(this), at, from.length));
      } finally {
        m.free(at);
      }
    }

    // ---- explanations ----

    explain(key) {
      const hash = typeof key === 'bigint';
      const len = hash ? 0 : put(this, key);
      const why = structs.output('explanation', (at) => {
        const status = hash ? x.nayw_explain_hash(live(this), word(key, 'hash'), 0n, at)
          : x.nayw_explain(live(this), keys.at, len, at);
        keys.done();
        m.check(status);
      });
      why.steps = [];
      const nbytes = structs.nbytes('step');
      for (let i = 0, at = x.nayw_explain_steps() >>> 0; i < x.nayw_explain_nsteps(); i++, at += nbytes) {
        why.steps.push(structs.read('step', at));
      }
      delete why.payload;
      return why;
    }

    /** A copy of the payload: the bits that explanations speak of. */
    payload() {
      const at = structs.output('explanation', (out) => m.check(x.nayw_explain_hash(live(this), 0n, 0n, out)));
      return m.copyOut(at.payload, at.payloadNbytes);
    }

    // ---- bytes ----

    encode() {
      const size = x.nay_filter_encoded_size(live(this)) >>> 0;
      if (size === 0) m.check(ENOTSUP);
      return m.with(size, (at) => {
        m.check(x.nay_filter_encode(live(this), at, size, m.cell));
        return m.copyOut(at, m.number(m.cell));
      });
    }
  }
  const live = liveOf(Filter);
  return Filter;
}

function traitsOf(bits) {
  return Object.fromEntries(Object.entries(TRAITS).map(([name, bit]) => [name, (bits & bit) !== 0]));
}
export { makeFilter, batchOf, traitsOf, feedBuilder };
