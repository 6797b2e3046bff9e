import { EIO, NayError, optionsOf, refuse } from './error.js';
import { Memory, bytesOf } from './memory.js';
import { Structs, Names, word } from './struct.js';
import { Keys, typedKeys } from './keys.js';
import { makeFilter, traitsOf } from './filter.js';
import { makeMap } from './map.js';
import { makeFormats } from './format.js';
import { makeTable, makeTableFilters } from './table.js';
import { makePlanLsm } from './lsm.js';
import { makeTrace } from './trace.js';

const PAGE = 65536;
const FIRST_PAGES = 32; // --initial-memory of web/wasm/build

// (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt): valid where there is simd128
const SIMD_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/** Whether this engine has the vector instructions of the -simd modules. */
export const hasSimd = () => WebAssembly.validate(SIMD_PROBE);

/** A module of bytes; what is none is refused. */
async function compile(bytes) {
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    return refuse(`wasm: ${error.message}`);
  }
}

/** Where each module is: each URL is written out, as bundlers look for just that and take the file along. */
const MODULES = {
  'libnay': () => new URL('./libnay.wasm', import.meta.url),
  'libnay-simd': () => new URL('./libnay-simd.wasm', import.meta.url),
  'libnay-full': () => new URL('./libnay-full.wasm', import.meta.url),
  'libnay-full-simd': () => new URL('./libnay-full-simd.wasm', import.meta.url),
};

/** The bytes of a module: given, or at a URL, or beside this file. */
async function fetchModule(source, name) {
  if (source instanceof WebAssembly.Module) return source;
  if (source !== undefined && typeof source !== 'string' && !(source instanceof URL)) {
    return compile(bytesOf(source, 'wasm'));
  }
  const url = source === undefined ? MODULES[name]() : new URL(source, import.meta.url);
  if (url.protocol === 'file:' && typeof process !== 'undefined' && process.versions?.node) {
    const { readFile } = await import('node:fs/promises');
    return compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new NayError(EIO, `cannot read ${url}: ${response.status}`);
  return compile(await response.arrayBuffer());
}

function makeMemory(maxMemory) {
  if (maxMemory === undefined) return new WebAssembly.Memory({ initial: FIRST_PAGES });
  const maximum = Math.floor(maxMemory / PAGE);
  if (!(maximum >= FIRST_PAGES && maximum <= 65536)) refuse('maxMemory: not between 2 MiB and 4 GiB');
  return new WebAssembly.Memory({ initial: FIRST_PAGES, maximum });
}

/** An instance of the library. Instances share nothing: a filter belongs to the one that made it. */
export async function load(options) {
  const { wasm, simd = hasSimd(), full = false, maxMemory } = optionsOf(options, ['wasm', 'simd', 'full', 'maxMemory']);
  for (const [name, value] of [['simd', simd], ['full', full]]) {
    if (typeof value !== 'boolean') refuse(`options.${name}: neither true nor false`);
  }
  const name = `libnay${full ? '-full' : ''}${simd ? '-simd' : ''}`;
  const module = await fetchModule(wasm, name);
  const memory = makeMemory(maxMemory);
  const m = new Memory(memory);
  const instance = await WebAssembly.instantiate(module, { env: { memory, grown: () => m.refresh() } });
  m.attach(instance.exports);
  m.registry = new FinalizationRegistry(({ ptr, release }) => release(ptr));
  return makeLibrary(m);
}

function makeLibrary(m) {
  const x = m.x;
  const names = new Names(m);
  const structs = new Structs(m, names);
  structs.addTable(x.nayw_layouts());
  const keys = new Keys(m);
  const Filter = makeFilter(m, structs, keys);
  let hasher = null;
  const library = {
    version: m.text(x.nay_version()),
    /** The name and the text of the status of a NayError; the name of an unknown one is null. */
    status: (number) => ({ name: m.text(x.nay_status_name(number))?.slice(4) ?? null, text: m.text(x.nay_status_text(number)) }),
    kinds: [...names.kinds.keys()].filter((kind) => !['map', 'range', 'list', 'sbbf'].includes(kind) && !kind.startsWith('auto')),
    traits: (kind) => traitsOf(x.nay_kind_traits(names.kindNumber(kind))),
    key: typedKeys(m),
    hash(key) {
      hasher ??= Filter.create({ kind: 'bloom', nbits: 64, k: 1 });
      return hasher.hash(key);
    },
    mix: (value) => BigInt.asUintN(64, x.nayw_hash_mix(word(value, 'value'))),
    memoryUsed: () => m.memory.buffer.byteLength,
    Filter,
    StaticMap: makeMap(m, structs, keys),
    full: 'nayw_full_layouts' in x,
  };
  if (library.full) {
    structs.addTable(x.nayw_full_layouts());
    library.formats = makeFormats(m, structs, Filter);
    library.Table = makeTable(m, structs, keys);
    library.TableFilters = makeTableFilters(m, structs, keys);
    library.planLsm = makePlanLsm(m, structs);
  }
  if ('nayw_trace_start' in x) library.trace = makeTrace(m);
  return library;
}
