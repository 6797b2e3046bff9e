import { camel, refuse } from './error.js';

/*
 * Structs of C as objects, by the table of layouts that the module has of itself (web/wasm/layout.c).
 * Field names become camelCase; a field `size` is the struct's and no property.
 */
const FLAGS = { concurrent: 0x01, storeKey: 0x02, unique: 0x08, noVerify: 0x10 };
const TWO_64 = 1n << 64n;
/** nay_kind of static maps. */
const MAP = 12;

/** A number or bigint as 64 bits; never rounded. */
function word(value, name) {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) refuse(`${name}: not an integer below 2^53`);
  if (typeof value !== 'number' && typeof value !== 'bigint') refuse(`${name}: not a number`);
  const wide = BigInt(value);
  if (wide < 0n || wide >= TWO_64) refuse(`${name}: not between 0 and 2^64 - 1`);
  return wide;
}

class Structs {
  constructor(memory, names) {
    this.memory = memory;
    this.names = names; // of kinds and hashes
    this.all = new Map();
  }

  /** Reads a table of layouts: name, size, fields; a name of NULL ends each list. */
  addTable(table) {
    const m = this.memory;
    for (let at = table; m.number(at) !== 0; at += 12) {
      const fields = new Map();
      for (let f = m.number(at + 8); m.number(f) !== 0; f += 12) {
        const name = camel(m.text(m.number(f)));
        if (name !== 'size') fields.set(name, { offset: m.number(f + 4), type: String.fromCharCode(m.number(f + 8)) });
      }
      this.all.set(m.text(m.number(at)), { nbytes: m.number(at + 4), fields });
    }
  }

  nbytes(name) {
    return this.all.get(name).nbytes;
  }

  read(name, at) {
    const object = {};
    for (const [field, { offset, type }] of this.all.get(name).fields) object[field] = this.get(at + offset, type);
    return object;
  }

  get(at, type) {
    const m = this.memory;
    switch (type) {
      case 'n': return Number(m.u64[at >>> 3]);
      case 'q': return m.u64[at >>> 3];
      case 'd': return m.f64[at >>> 3];
      case 'b': return m.u8[at] !== 0;
      case 't': return m.text(m.number(at));
      case 'k': return this.names.kindName(m.number(at));
      case 'h': return this.names.hashName(m.number(at));
      case 'x': return m.copyOut(at, 16);
      default: return m.number(at);
    }
  }

  /** Zeroes the struct, sets its size, and calls fill(at) and read(name) around a call of the library. */
  output(name, call) {
    const m = this.memory;
    const nbytes = this.nbytes(name);
    return m.with(nbytes, (at) => {
      m.u8.fill(0, at, at + nbytes);
      m.u32[at >>> 2] = nbytes;
      call(at);
      return this.read(name, at);
    });
  }

  /** Calls use(at) with the struct that the object describes. A property that no field has is refused. */
  input(name, object, use) {
    const m = this.memory;
    const { nbytes, fields } = this.all.get(name);
    if (object === null || typeof object !== 'object') refuse('params: not an object');
    return m.with(nbytes, (at) => {
      m.u8.fill(0, at, at + nbytes);
      m.u32[at >>> 2] = nbytes;
      for (const [property, value] of Object.entries(object)) {
        if (value === undefined) continue;
        const field = fields.get(property);
        if (field && property !== 'flags') this.set(at + field.offset, field.type, property, value);
        else if (Object.hasOwn(FLAGS, property) && fields.has('flags')) this.flag(at + fields.get('flags').offset, property, value);
        else refuse(`params.${property}: there is no such parameter`);
      }
      if (object.hash !== 'siphash13' && (object.key !== undefined || object.storeKey)) {
        refuse(`params.${object.key !== undefined ? 'key' : 'storeKey'}: only hash 'siphash13' has a key`);
      }
      return use(at);
    });
  }

  /** The parameters that the library gave, as input() takes them: flags by name, a key where there is one. */
  paramsOf({ flags, key, ...params }) {
    if (params.hash === 'siphash13') params.key = key;
    for (const [name, bit] of Object.entries(FLAGS)) if ((flags & bit) !== 0) params[name] = true;
    return params;
  }

  flag(at, property, value) {
    if (typeof value !== 'boolean') refuse(`${property}: neither true nor false`);
    if (value) this.memory.u32[at >>> 2] |= FLAGS[property];
  }

  set(at, type, name, value) {
    const m = this.memory;
    switch (type) {
      case 'n':
      case 'q':
        m.u64[at >>> 3] = word(value, name);
        break;
      case 'd':
        if (typeof value !== 'number' || Number.isNaN(value)) refuse(`${name}: not a number`);
        m.f64[at >>> 3] = value;
        break;
      case 'k': m.u32[at >>> 2] = this.names.kindNumber(value); break;
      case 'h': m.u32[at >>> 2] = this.names.hashNumber(value); break;
      case 'x':
        if (!(value instanceof Uint8Array) || value.length !== 16) refuse(`${name}: not a Uint8Array of 16 bytes`);
        m.u8.set(value, at);
        break;
      default:
        if (word(value, name) > 0xffffffffn) refuse(`${name}: above 2^32 - 1`);
        m.u32[at >>> 2] = Number(value);
    }
  }
}

/** Kinds and hashes by name and number. */
class Names {
  constructor(memory) {
    this.memory = memory;
    this.kinds = new Map([['auto', 0], ['auto-static', 256]]);
    for (let kind = 1; kind < 32; kind++) {
      const name = memory.text(memory.x.nay_kind_name(kind));
      if (name !== null) this.kinds.set(name, kind);
    }
  }

  kindName(number) {
    return number === 0 ? 'auto' : this.memory.text(this.memory.x.nay_kind_name(number));
  }

  kindNumber(name) {
    return this.kinds.get(name) ?? refuse(`kind: no family '${name}'`);
  }

  hashName(number) {
    const { nay_hash_name: all, nayw_hash_name: native } = this.memory.x; // `all` in the full module alone
    return this.memory.text((all ?? native)(number));
  }

  hashNumber(name) {
    for (let number = 0; number < 3; number++) if (this.hashName(number) === name) return number;
    return refuse(`hash: no hash '${name}': there are xxh3, siphash13, caller`);
  }
}
export { MAP, Structs, Names, word };
