/*
 * samples.js - files to look into when there is none at hand: two that the library makes here, and
 * two of the test data that LevelDB and Redis wrote (bundle.py puts their bytes into the page).
 */
import { EXAMPLES, keyLines } from './keys.js';

const STORED = /*SAMPLES*/ {};

function stored(name) {
  return Uint8Array.from(atob(STORED[name]), (c) => c.charCodeAt(0));
}

function keys() {
  const words = new TextDecoder()
    .decode(keyLines('words', 0, 1960))
    .trimEnd()
    .split('\n');
  return [...EXAMPLES, ...words];
}

function made(filter, encode) {
  try {
    return encode(filter);
  } finally {
    filter.free();
  }
}

export const SAMPLES = [
  {
    id: 'nay',
    label: 'A nay file',
    name: 'fruit.nay',
    make: (engine) => made(engine.build(keys(), { kind: 'blocked', fpr: 0.01 }), (f) => f.encode()),
  },
  {
    id: 'ribbon',
    label: 'The smallest one',
    name: 'fruit-ribbon.nay',
    make: (engine) => made(engine.build(keys(), { kind: 'ribbon', fpr: 0.01 }), (f) => f.encode()),
  },
  {
    id: 'leveldb',
    label: 'LevelDB\u2019s filter',
    name: 'fruit.leveldb',
    format: 'leveldb',
    make: (engine) => made(engine.buildAs('leveldb', keys(), { bitsPerKey: 10 }), (f) => engine.encodeAs('leveldb', f)),
  },
  { id: 'table', label: 'A LevelDB table', name: 'sample.ldb', key: 'key000042', make: () => stored('sample.ldb') },
  { id: 'redis', label: 'A Redis dump', name: 'sample.dump', key: 'item:7', make: () => stored('sample.dump') },
];
