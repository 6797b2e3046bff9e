import { EEND, ENOENT, optionsOf, refuse } from './error.js';

const DELETE = 1; // nay_sst_entry_type
import { typedKey } from './keytype.js';
import { Handle, OWN, bytesOf, liveOf } from './memory.js';

const NEWEST = (1n << 56n) - 1n; // NAY_SST_NEWEST
const LAYOUTS = ['none', 'block', 'full', 'partitioned'];
const KEYS = ['auto', 'plain', 'internal'];

/** A list of texts that a call returns one by one, until it returns NULL. */
function texts(m, at) {
  const all = [];
  for (let i = 0, text; (text = at(i)) !== 0; i++) all.push(m.text(text));
  return all;
}

/** The name of a table's layout as text of C, or NULL. */
function withLayout(m, layout, use) {
  return layout === undefined ? use(0) : m.withText(layout, use);
}

/** The class Table of one full instance: a sorted table, nay_sst.h. */
function makeTable(m, structs, keys) {
  const x = m.x;

  class Table extends Handle {
    /** The bytes stay in the module's memory until the table is freed. */
    constructor(own, ptr, bytes) {
      super(own, m, ptr, (sst) => {
        x.nay_sst_free(sst);
        m.free(bytes);
      });
      this.type = this.info().keyType ?? 'text';
    }

    static open(bytes, options) {
      const { layout, key } = optionsOf(options, ['layout', 'key']);
      if (key !== undefined && !(key instanceof Uint8Array && key.length === 16)) {
        refuse('key: not a Uint8Array of 16 bytes');
      }
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      try {
        if (key) m.u8.set(key, m.room);
        const view = (name) => m.make((diag, out) => x.nayw_sst_view(at, from.length, name, key ? m.room : 0, diag, out));
        return new Table(OWN, withLayout(m, layout, view), at);
      } catch (error) {
        m.free(at);
        throw error;
      }
    }

    static layouts() {
      return texts(m, (i) => x.nay_sst_layout_at(i));
    }

    get(key) {
      const len = keys.put(typedKey(m, this.type, key));
      const nbytes = structs.nbytes('sstValue');
      return m.with(nbytes, (at) => {
        m.u8.fill(0, at, at + nbytes);
        m.u32[at >>> 2] = nbytes;
        m.u32[m.diag >>> 2] = 0;
        try {
          const status = x.nay_sst_get(live(this), keys.at, len, NEWEST, m.diag, at);
          const { bytes, len: nvalue, sequence, deleted } = structs.read('sstValue', at);
          if (status === ENOENT && !deleted) return undefined;
          if (status !== ENOENT) m.check(status, m.diag);
          return { value: m.copyOut(bytes, nvalue), sequence, deleted };
        } finally {
          keys.done();
          x.nay_sst_value_free(at);
        }
      });
    }

    has(key) {
      const len = keys.put(typedKey(m, this.type, key));
      const maybe = x.nay_sst_may_contain(live(this), keys.at, len);
      keys.done();
      return maybe !== 0;
    }

    info() {
      const info = structs.output('sstInfo', (at) => m.check(x.nay_sst_stats(live(this), at)));
      const { smallest, smallestLen, upperBound: largest, upperBoundLen: largestLen } = info;
      info.keyType = info.key;
      for (const gone of ['smallestLen', 'upperBound', 'upperBoundLen', 'key']) delete info[gone];
      info.smallest = smallest === 0 ? null : m.copyOut(smallest, smallestLen);
      info.largest = largest === 0 ? null : m.copyOut(largest, largestLen);
      info.filter = LAYOUTS[info.filter];
      info.keys = KEYS[info.keys];
      info.caveats = texts(m, (i) => x.nay_sst_caveat(live(this), i));
      return info;
    }

    counters() {
      return structs.output('sstCounters', (at) => m.check(x.nayw_sst_counters(live(this), at)));
    }

    /** Entries in order: { key, value, sequence, deleted }, from a key on, or those with a prefix. */
    * entries(options) {
      const { from, prefix } = optionsOf(options, ['from', 'prefix']);
      const internal = this.info().keys === 'internal';
      const iter = m.make((diag, out) => x.nay_sst_iter_new(live(this), diag, out));
      try {
        for (let status = start(iter, this.type, from, prefix); status !== EEND; status = x.nay_sst_iter_next(iter)) {
          m.check(status, x.nay_sst_iter_diag(iter));
          yield entry(iter, internal);
        }
      } finally {
        x.nay_sst_iter_free(iter);
      }
    }

    [Symbol.iterator]() {
      return this.entries();
    }
  }

  /** A prefix that is bytes has any length. */
  function start(iter, type, from, prefix) {
    const key = prefix ?? from;
    if (key === undefined) return x.nay_sst_iter_first(iter);
    const len = keys.put(typeof key === 'string' || prefix === undefined ? typedKey(m, type, key) : key);
    const status = (prefix === undefined ? x.nay_sst_iter_seek : x.nay_sst_iter_seek_prefix)(iter, keys.at, len);
    keys.done();
    return status;
  }

  function entry(iter, internal) {
    const key = x.nay_sst_iter_key(iter, m.cell);
    const keyLen = m.number(m.cell);
    const value = x.nay_sst_iter_value(iter, m.cell);
    const at = { value: m.copyOut(value, m.number(m.cell)), sequence: 0n, deleted: false };
    if (!internal) return { key: m.copyOut(key, keyLen), ...at };
    const split = structs.output('sstEntry', (out) => m.check(x.nay_sst_key_split(key, keyLen, out)));
    return { key: m.copyOut(split.key, split.len), value: at.value, sequence: split.sequence, deleted: split.type === DELETE };
  }
  const live = liveOf(Table);
  return Table;
}

/** The class TableFilters of one full instance: the filters inside a table, nay_sst_filters.h. */
function makeTableFilters(m, structs, keys) {
  const x = m.x;

  class TableFilters extends Handle {
    constructor(own, ptr, bytes) {
      super(own, m, ptr, (table) => {
        x.nay_sst_filters_free(table);
        m.free(bytes);
      });
      this.type = this.info().keyType ?? 'text';
    }

    /** Whether the bytes end as a table of LevelDB, RocksDB or nori does. */
    static recognise(bytes) {
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      const found = x.nay_sst_filters_recognise(at, from.length);
      m.free(at);
      return found !== 0;
    }

    static open(bytes, options) {
      const { layout } = optionsOf(options, ['layout']);
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      try {
        const open = (name) => m.make((diag, out) => x.nayw_filters_open(at, from.length, name, diag, out));
        return new TableFilters(OWN, withLayout(m, layout, open), at);
      } catch (error) {
        m.free(at);
        throw error;
      }
    }

    has(key) {
      const len = keys.put(typedKey(m, this.type, key));
      const maybe = x.nay_sst_filters_may_contain(live(this), keys.at, len);
      keys.done();
      return maybe !== 0;
    }

    info() {
      const info = structs.output('filtersInfo', (at) => m.check(x.nay_sst_filters_stats(live(this), at)));
      info.keyType = info.key;
      delete info.key;
      info.engine = info.engineText;
      delete info.engineText;
      info.layout = LAYOUTS[info.layout];
      info.caveats = texts(m, (i) => x.nay_sst_filters_caveat(live(this), i));
      return info;
    }

    /** The filters in the order of the file: bytes, where they are, the format that reads them. */
    * filters() {
      const nbytes = structs.nbytes('filtersEntry');
      for (let i = 0n; ; i++) {
        const entry = m.with(nbytes, (at) => {
          m.u8.fill(0, at, at + nbytes);
          m.u32[at >>> 2] = nbytes;
          const status = x.nay_sst_filters_at(live(this), i, at);
          if (status === EEND) return null;
          m.check(status);
          return structs.read('filtersEntry', at);
        });
        if (entry === null) return;
        yield {
          bytes: m.copyOut(entry.bytes, entry.len),
          offset: entry.offset,
          damaged: entry.damaged,
          ofPrefixes: entry.ofPrefixes,
          format: entry.format === 0 ? null : m.text(x.nay_format_name(entry.format)),
          lastKey: entry.lastKey === 0 ? null : m.copyOut(entry.lastKey, entry.lastKeyLen),
        };
      }
    }

    /** Which filters decide about a key: the answer, and each filter that is probed. */
    explain(key) {
      const len = keys.put(typedKey(m, this.type, key));
      const maybe = x.nayw_filters_explain(live(this), keys.at, len);
      keys.done();
      m.check(maybe);
      const probes = [];
      for (let i = 0, at = x.nayw_filters_probes() >>> 0; i < x.nayw_filters_nprobes(); i++, at += 8) {
        const keyLen = m.u8[at + 6] | (m.u8[at + 7] << 8);
        probes.push({ offset: m.number(at), damaged: m.u8[at + 4] !== 0, maybe: m.u8[at + 5] !== 0, keyLen });
      }
      return { maybe: maybe !== 0, probes };
    }
  }
  const live = liveOf(TableFilters);
  return TableFilters;
}
export { makeTable, makeTableFilters };
