import { camel, ENOMEM, NayError, refuse } from './error.js';

/*
 * The instance and its memory. Growing detaches every view of it: the module calls `grown` right after,
 * and the views are made anew. So u8, u32 and the others are always valid, and are read from the object
 * each time, never kept.
 */
class Memory {
  constructor(memory) {
    this.memory = memory;
    this.refresh();
  }

  refresh() {
    const { buffer } = this.memory;
    this.u8 = new Uint8Array(buffer);
    this.u32 = new Uint32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.u64 = new BigUint64Array(buffer);
    this.roomView = this.x && this.u8.subarray(this.room, this.room + this.roomSize);
  }

  /** Connects the exports of the instance: from here on there is a library. */
  attach(x) {
    this.x = x;
    this.room = x.nayw_room();
    this.roomSize = x.nayw_room_size();
    this.refresh();
    this.decoder = new TextDecoder();
    this.encoder = new TextEncoder();
    this.cell = this.alloc(64); // outputs of calls: pointers, counts
    this.diag = this.alloc(64);
  }

  alloc(nbytes) {
    const at = nbytes <= 0xffff0000 ? this.x.malloc(nbytes) : 0;
    if (at === 0) throw new NayError(ENOMEM, this.text(this.x.nay_status_text(ENOMEM)));
    return at >>> 0;
  }

  free(at) {
    this.x.free(at);
  }

  /** Calls `use` with memory of that size, and releases it whatever happens. */
  with(nbytes, use) {
    const at = this.alloc(nbytes);
    try {
      return use(at);
    } finally {
      this.free(at);
    }
  }

  /** A copy of bytes in the module's memory; the caller releases it. */
  copyIn(bytes) {
    const at = this.alloc(Math.max(bytes.length, 1));
    this.u8.set(bytes, at);
    return at;
  }

  copyOut(at, len) {
    return this.u8.slice(at >>> 0, (at >>> 0) + len);
  }

  /** Text of C at an address: null for NULL. */
  text(at) {
    if (at === 0) return null;
    return this.decoder.decode(this.u8.slice(at >>> 0, this.u8.indexOf(0, at >>> 0)));
  }

  /** Calls `use` with the address of a text that ends in 0; one with a 0 inside is refused, as C would take what is before. */
  withText(text, use) {
    if (text.includes('\0')) refuse('a zero byte', text.indexOf('\0'));
    const bytes = this.encoder.encode(text);
    return this.with(bytes.length + 1, (at) => {
      this.u8.set(bytes, at);
      this.u8[at + bytes.length] = 0;
      return use(at);
    });
  }

  number(at) {
    return this.u32[at >>> 2];
  }

  /** Throws unless the status is NAY_OK. With diag, what it says, fields by their names in JavaScript. */
  check(status, diag = 0) {
    if (status >= 0) return status;
    const said = diag !== 0 && this.number(diag) !== 0 ? this.text(this.number(diag)) : null;
    const what = said?.replace(/\b(?!nay_)[a-z0-9]+(_[a-z0-9]+)+\b/g, camel) ?? null;
    const offset = what === null ? 0 : Number(this.u64[(diag + 8) >>> 3]);
    throw new NayError(status, what ?? this.text(this.x.nay_status_text(status)), offset);
  }

  /** A call that fills diag when it fails: fn(diag). */
  checked(fn) {
    this.u32[this.diag >>> 2] = 0;
    return this.check(fn(this.diag), this.diag);
  }

  /** A call that fills diag when it fails and writes a pointer: fn(diag, out). Returns the pointer. */
  make(fn) {
    this.u32[this.diag >>> 2] = 0;
    this.check(fn(this.diag, this.cell), this.diag);
    return this.number(this.cell);
  }
}

/** Any view or buffer as bytes, without a copy. */
function bytesOf(value, what) {
  const buffer = value instanceof ArrayBuffer ? value : ArrayBuffer.isView(value) ? value.buffer : null;
  if (buffer === null) refuse(`${what}: neither a Uint8Array nor an ArrayBuffer`);
  if (buffer.byteLength === 0) checkAttached(buffer, what);
  if (value instanceof Uint8Array) return value;
  return buffer === value ? new Uint8Array(value) : new Uint8Array(buffer, value.byteOffset, value.byteLength);
}

/** A detached buffer has a length of 0, and no bytes that could be an empty key. */
function checkAttached(buffer, what) {
  try {
    return new Uint8Array(buffer);
  } catch {
    return refuse(`${what}: its buffer is detached`);
  }
}

/*
 * Objects own memory of the module. free() releases it; what is never freed goes when the object is
 * collected, if the engine gets round to it. Only this package makes them: OWN is not exported.
 */
const OWN = Symbol('made by libnay');

const SUMMARY = Symbol('what console.log shows of it');
const SUMMARY_BYTES = 1 << 24; // larger filters are not read for it

class Handle {
  constructor(own, memory, ptr, release) {
    if (own !== OWN) refuse(`${new.target.name}: made by calls such as create, build and open, not by new`);
    this.ptr = ptr;
    this.owned = { ptr, release };
    memory.registry.register(this, this.owned, this);
    this.memory = memory;
  }

  free() {
    if (this.ptr === 0) return;
    this.memory.registry.unregister(this);
    this.owned.release(this.ptr);
    this.ptr = 0;
  }
}

/*
 * The address of an object of a class, which must not be freed. Each instance of the module has classes of
 * its own: an address means nothing in the memory of another instance, and instanceof finds that out too.
 */
function liveOf(Class) {
  return (object) => {
    if (!(object instanceof Class)) {
      refuse(object instanceof Handle ? `not a ${Class.name} of this module: it is of another class or another load()`
        : `not a ${Class.name}`);
    }
    if (!object.ptr) refuse('the object was freed');
    return object.ptr;
  };
}
/** What node shows: one line, not the addresses. */
Handle.prototype[Symbol.for('nodejs.util.inspect.custom')] = function inspect() {
  const about = !this.ptr ? 'freed' : this[SUMMARY]?.();
  return `${this.constructor.name} {${about === undefined ? '' : ` ${about} `}}`;
};
if (Symbol.dispose) {
  Handle.prototype[Symbol.dispose] = function dispose() {
    this.free();
  };
}
export { Memory, Handle, OWN, SUMMARY, SUMMARY_BYTES, liveOf, bytesOf };
