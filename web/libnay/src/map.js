import { EFORMAT, ENOENT, ENOTSUP, refuse } from './error.js';
import { checkType, splitType, typedKey } from './keytype.js';
import { Handle, OWN, SUMMARY, bytesOf, liveOf } from './memory.js';
import { MAP, word } from './struct.js';

/** The class StaticMap of one instance of the module: nay_map.h. */
function makeMap(m, structs, keys) {
  const x = m.x;

  class StaticMap extends Handle {
    constructor(own, ptr) {
      super(own, m, ptr, x.nay_filter_free);
      this.type = m.text(x.nay_filter_key(ptr));
    }

    /** For console.log. */
    [SUMMARY]() {
      const { nkeys, valueBits, checkBits } = this.stats();
      const size = x.nay_filter_encoded_size(live(this)) >>> 0;
      return `${nkeys} keys, ${valueBits} value bits, ${checkBits} check bits, ${size} bytes`;
    }

    /** pairs: an array or Map of [key, value]; keys are hashes (bigint) where the caller hashes. */
    static build(pairs, params = {}) {
      if (typeof pairs?.[Symbol.iterator] !== 'function') refuse('pairs: neither an array nor a Map');
      if (params === null || typeof params !== 'object') refuse('params: not an object');
      const all = [...pairs];
      if (!all.every((pair) => Array.isArray(pair) && pair.length === 2)) refuse('pairs: not each is [key, value]');
      const { type, rest } = splitType(params);
      const make = (p) => m.make((diag, out) => x.nay_builder_new(p, 0, diag, out));
      const builder = structs.input('params', { ...rest, kind: 'map' }, make);
      const typed = type === 'text' ? all : all.map(([key, value]) => [typedKey(m, type, key), value]);
      try {
        StaticMap.feed(builder, typed, params.hash === 'caller');
        const map = new StaticMap(OWN, m.make((diag, out) => x.nay_builder_finish(builder, diag, out)));
        if (type !== 'text') map.keyType = type;
        return map;
      } finally {
        x.nay_builder_free(builder);
      }
    }

    static feed(builder, pairs, hashed) {
      const n = pairs.length;
      const values = BigUint64Array.from(pairs, ([, value]) => word(value, 'value'));
      m.with(16 * n + 8, (at) => {
        m.u64.set(values, at >>> 3);
        if (hashed) {
          m.u64.set(BigUint64Array.from(pairs, ([key]) => word(key, 'hash')), (at >>> 3) + n);
          m.check(x.nayw_map_builder_hashes(builder, at + 8 * n, n, at));
          return;
        }
        keys.packed(pairs.map(([key]) => key), (bytes, offsets, some, first) => {
          m.check(x.nayw_map_builder_packed(builder, bytes, offsets, some, at + 8 * first));
        });
      });
    }

    static open(bytes) {
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      try {
        const map = new StaticMap(OWN, m.make((diag, out) => x.nay_filter_decode(at, from.length, 0, diag, out)));
        if (x.nay_filter_kind(live(map)) === MAP) return map;
        map.free(); // a filter
        return m.check(EFORMAT);
      } finally {
        m.free(at);
      }
    }

    /** The value, a bigint; undefined when the map has check bits and the key is certainly absent. */
    get(key) {
      const hash = typeof key === 'bigint';
      if (hash && this.stats().hash !== 'caller') refuse('the key is a number, and a hash only where the caller hashes: nay.key.int(7n), say');
      const len = hash ? 0 : keys.put(typedKey(m, this.type, key));
      const status = hash ? x.nayw_map_get_hash(live(this), word(key, 'hash'), m.cell)
        : x.nay_filter_get(live(this), keys.at, len, m.cell);
      keys.done();
      if (status === ENOENT) return undefined;
      m.check(status);
      return m.u64[m.cell >>> 3];
    }

    stats() {
      const s = structs.output('stats', (at) => m.check(x.nay_filter_stats(live(this), at)));
      const { nkeys, valueBits, checkBits, nbits, nbytes, hash, readOnly, locked, storesKey } = s;
      return {
        nkeys, valueBits, checkBits, nbits, nbytes, hash, readOnly, locked, storesKey,
        bitsPerKey: nkeys === 0 ? 0 : nbits / nkeys, errorRate: s.fprNow, nlayers: s.nlevels,
      };
    }

    unlock(key) {
      if (!(key instanceof Uint8Array) || key.length !== 16) refuse('key: not a Uint8Array of 16 bytes');
      m.u8.set(key, m.room);
      m.check(x.nay_filter_unlock(live(this), m.room));
      return this;
    }

    /** How keys are made of strings: see Filter. */
    get keyType() {
      live(this);
      return this.type;
    }

    set keyType(type) {
      checkType(type);
      m.check(m.withText(type, (at) => x.nay_filter_set_key(live(this), at)));
      this.type = m.text(x.nay_filter_key(live(this)));
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

    encode() {
      const size = x.nay_filter_encoded_size(live(this)) >>> 0;
      if (size === 0) m.check(ENOTSUP);
      return m.with(size, (at) => {
        m.check(x.nay_filter_encode(live(this), at, size, m.cell));
        return m.copyOut(at, m.number(m.cell));
      });
    }
  }
  const live = liveOf(StaticMap);
  return StaticMap;
}
export { makeMap };
