import { refuse } from './error.js';
import { bytesOf } from './memory.js';
import { word } from './struct.js';

/*
 * Keys on their way into the module. A string is its UTF-8; a lone surrogate has none, and TextEncoder
 * would make U+FFFD of every one of them, so that two different strings become one key: it is refused.
 * Short strings are encoded by a loop, 1 to 2 ns a character; longer ones by TextEncoder.encodeInto, which
 * takes 45 ns in node and 170 in Chromium, and little more for each character.
 */
const SHORT = typeof process !== 'undefined' && process.versions?.node ? 24 : 128;
const PIECE = 512; // keys of a batch that are encoded at a time
const LONE_SURROGATE = /\p{Surrogate}/u; // under the flag u a pair is one character, not a surrogate

function checkWellFormed(text) {
  const bad = text.isWellFormed ? !text.isWellFormed() : LONE_SURROGATE.test(text);
  if (bad) refuse('the key has a lone surrogate, which has no UTF-8', text.search(LONE_SURROGATE));
}

/** The rest of a short string, from its first character above 127 on; returns where the bytes end. */
function encodeRest(u8, at, text, from) {
  const n = text.length;
  for (let i = from; i < n; i++) {
    let c = text.charCodeAt(i);
    if (c < 0x80) {
      u8[at++] = c;
      continue;
    }
    if (c < 0x800) {
      u8[at++] = 0xc0 | (c >> 6);
    } else {
      if (c >= 0xd800 && c < 0xe000) {
        const low = text.charCodeAt(i + 1); // NaN at the end
        if (c >= 0xdc00 || !(low >= 0xdc00 && low < 0xe000)) {
          refuse('the key has a lone surrogate, which has no UTF-8', i);
        }
        i++;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        u8[at++] = 0xf0 | (c >> 18);
        u8[at++] = 0x80 | ((c >> 12) & 63);
      } else {
        u8[at++] = 0xe0 | (c >> 12);
      }
      u8[at++] = 0x80 | ((c >> 6) & 63);
    }
    u8[at++] = 0x80 | (c & 63);
  }
  return at;
}

/** A short string at an address; returns where it ends. There must be 3 bytes for each character. */
function encodeShort(u8, at, text) {
  const n = text.length;
  for (let i = 0; i < n; i++) {
    const c = text.charCodeAt(i);
    if (c > 127) return encodeRest(u8, at + i, text, i);
    u8[at + i] = c;
  }
  return at + n;
}

/** The length of a key that is bytes; what is no key is refused when it is written. */
const boundOf = (key) => (typeof key === 'object' && key !== null ? bytesOf(key, 'the key').length : 0);

class Keys {
  constructor(memory) {
    this.memory = memory;
    this.at = memory.room; // of the key that was put last
    this.long = 0; // memory for a key that does not fit the room
  }

  /** Writes a key into the module's memory, at this.at; returns its length. */
  put(key) {
    if (typeof key === 'string' && key.length <= SHORT) {
      const { room, u8 } = this.memory;
      this.at = room;
      return encodeShort(u8, room, key) - room;
    }
    return this.putOther(key);
  }

  putOther(key) {
    const m = this.memory;
    if (typeof key === 'string') {
      this.reserve(3 * key.length);
      const to = this.long === 0 ? m.roomView : m.u8.subarray(this.at);
      const { written } = m.encoder.encodeInto(key, to);
      if (written !== key.length) checkWellFormed(key); // else it is ASCII
      return written;
    }
    if (typeof key === 'number' || typeof key === 'bigint') {
      refuse('the key is a number: say which key it is, such as nay.key.int(7) or String(7)');
    }
    const bytes = bytesOf(key, 'the key');
    this.reserve(bytes.length);
    m.u8.set(bytes, this.at);
    return bytes.length;
  }

  reserve(nbytes) {
    this.done();
    if (nbytes > this.memory.roomSize) this.long = this.memory.alloc(nbytes);
    this.at = this.long !== 0 ? this.long : this.memory.room;
  }

  /** Releases the memory of a long key. */
  done() {
    if (this.long === 0) return;
    this.memory.free(this.long);
    this.long = 0;
  }

  /**
   * Calls each(bytes, offsets, n, first) for the keys of an array, packed, a piece at a time: key i of the
   * piece, which is key first + i of all, is the bytes from offsets[i] to offsets[i + 1].
   *
   * A piece whose keys are all ASCII strings is concatenated and encoded by one call, twice as fast as
   * character by character; that it is ASCII shows afterwards: as many bytes as characters.
   *
   * Reading an array may run code of the caller, which may change its length or grow the memory. The caller of
   * packed() has room for as many keys as there were: more are not read, and one that is gone is no key.
   */
  packed(keys, each) {
    const m = this.memory;
    const all = keys.length;
    m.with(m.roomSize + 4 * (PIECE + 1), (base) => {
      const offsets = base + m.roomSize; // 16-byte aligned, as both are
      for (let first = 0; first < all; first += PIECE) {
        const n = Math.min(PIECE, all - first);
        if (this.packAscii(keys, first, n, base, offsets)) each(base, offsets, n, first);
        else this.packEach(keys, first, n, base, offsets, each);
      }
    });
  }

  packAscii(keys, first, n, base, offsets) {
    const m = this.memory;
    const { roomSize } = m;
    const at = offsets >>> 2;
    let all = '', used = 0;
    for (let i = 0; i < n; i++) {
      const key = keys[first + i];
      if (typeof key !== 'string') return false;
      m.u32[at + i] = used;
      used += key.length;
      if (used > roomSize) return false;
      all += key;
    }
    m.u32[at + n] = used;
    const { read, written } = m.encoder.encodeInto(all, m.u8.subarray(base, base + roomSize));
    return read === used && written === used;
  }

  /** Any keys: as many to a piece as there is room for. */
  packEach(keys, first, n, base, offsets, each) {
    const m = this.memory;
    const at = offsets >>> 2;
    let from = first, used = 0;
    const flush = (to) => {
      m.u32[at + to - from] = used;
      if (to > from) each(base, offsets, to - from, from);
      from = to;
      used = 0;
    };
    for (let i = first; i < first + n; i++) {
      const key = keys[i];
      const bound = typeof key === 'string' ? 3 * key.length : boundOf(key);
      if (used + bound > m.roomSize) flush(i);
      if (bound > m.roomSize) {
        this.alone(key, offsets, i, each);
        from = i + 1;
        continue;
      }
      m.u32[at + i - from] = used;
      used += this.write(key, base + used, bound);
    }
    flush(first + n);
  }

  /** A key to an address where there is room for it. */
  write(key, at, bound) {
    const m = this.memory;
    if (typeof key === 'string' && key.length <= SHORT) return encodeShort(m.u8, at, key) - at;
    if (typeof key === 'string') {
      checkWellFormed(key);
      return m.encoder.encodeInto(key, m.u8.subarray(at, at + bound)).written;
    }
    const len = this.put(key);
    m.u8.copyWithin(at, this.at, this.at + len);
    return len;
  }

  /** A key that is longer than the room is a piece of its own. */
  alone(key, offsets, first, each) {
    const m = this.memory;
    try {
      const len = this.put(key);
      m.u32[offsets >>> 2] = 0;
      m.u32[(offsets >>> 2) + 1] = len;
      each(this.at, offsets, 1, first);
    } finally {
      this.done();
    }
  }
}

/** The key of a text, which is bytes here, by a key description: a type is one. */
function convert(m, type, text) {
  return m.withText(type, (name) => m.with(text.length + 1, (from) => {
    m.u8.set(text, from);
    m.u32[m.diag >>> 2] = 0;
    m.check(m.x.nayw_convert(name, from, text.length, 0, 0, m.cell, m.diag), m.diag);
    const len = m.number(m.cell);
    return m.with(len + 1, (to) => {
      m.check(m.x.nayw_convert(name, from, text.length, to, len, m.cell, m.diag), m.diag);
      return m.copyOut(to, len);
    });
  }));
}

/** nay.key: typed values as key bytes, the same as in every other program (doc/keys.md). */
function typedKeys(memory) {
  const TYPES = ['text', 'int', 'float', 'bool', 'date', 'timestamp', 'uuid', 'numeric', 'hex', 'b64',
    'ordered-int', 'ordered-float', 'ordered-date', 'ordered-timestamp'];
  const eight = (set) => {
    const view = new DataView(new ArrayBuffer(8));
    set(view);
    return new Uint8Array(view.buffer);
  };
  return {
    /** An integer from -2^63 to 2^64 - 1. */
    int(value) {
      const wide = typeof value === 'bigint' && value < 0n ? BigInt.asUintN(64, value)
        : typeof value === 'number' && value < 0 ? BigInt.asUintN(64, -word(-value, 'key'))
          : word(value, 'key');
      if (typeof value === 'bigint' && value < -(1n << 63n)) refuse('key: below -2^63');
      return eight((view) => view.setBigUint64(0, wide, true));
    },
    /** A number as binary64: one zero, one NaN. */
    float(value) {
      if (typeof value !== 'number') refuse('key: not a number');
      return eight((view) => {
        if (Number.isNaN(value)) view.setBigUint64(0, 0x7ff8000000000000n, true);
        else view.setFloat64(0, value + 0, true); // -0 becomes 0
      });
    },
    /** A text of a type: 'int', 'date', 'timestamp', 'uuid', 'numeric', 'hex', ... */
    parse(type, text) {
      if (!TYPES.includes(type)) refuse(`key: no type '${type}'`);
      if (typeof text !== 'string') refuse('key: not a string');
      checkWellFormed(text);
      return convert(memory, type, memory.encoder.encode(text));
    },
  };
}
export { Keys, typedKeys, checkWellFormed, convert };
