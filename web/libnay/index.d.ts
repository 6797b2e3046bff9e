// libnay: membership filters and static maps in WebAssembly. README.md is the tour.

/** A key: a string is its UTF-8 (a lone surrogate is refused), or a value of a keyType; bytes are as they are. */
export type Key = string | Uint8Array | ArrayBuffer | ArrayBufferView;

/**
 * How keys are made of strings, stated in the file: a type, perhaps with transformations ('int,trim',
 * 'text,ascii-lower'). A string is converted, or refused; bytes are a key as it is. Notations of text ('hex', 'b64') are refused: decode them first.
 */
export type KeyType =
  | 'text' | 'int' | 'float' | 'bool' | 'date' | 'timestamp' | 'uuid' | 'numeric'
  | 'ordered-int' | 'ordered-float' | 'ordered-date' | 'ordered-timestamp' | (string & {});

export type Kind =
  | 'bloom' | 'blocked' | 'counting' | 'scalable' | 'window' | 'cuckoo' | 'xor' | 'fuse' | 'ribbon';
export type Hash = 'xxh3' | 'siphash13' | 'caller';

/**
 * Many keys: an array (or other iterable) of keys; lines of a string or of bytes, each ended by a delimiter;
 * bytes with n + 1 offsets; or hashes, for a filter whose hash is 'caller'.
 */
export type Keys = Iterable<Key> | string | Uint8Array | ArrayBuffer | BigUint64Array;
export interface KeysOptions {
  /** Of lines: the byte that ends one; 10 unless told. */
  delimiter?: number;
  /** Key i is the bytes from offsets[i] to offsets[i + 1]. */
  offsets?: Uint32Array;
}

/** What you want: nkeys, and one of fpr, bitsPerKey, nbytes, nbits. nay.h explains each. */
export interface Params {
  /** 'auto-static' is for plan() alone, which chooses among xor, fuse and ribbon. 'range': needs rangeLength, see hasRange(). */
  kind?: Kind | 'range' | 'auto' | 'auto-static';
  nkeys?: number | bigint;
  fpr?: number;
  bitsPerKey?: number;
  nbytes?: number | bigint;
  nbits?: number | bigint;
  k?: number | bigint;
  fold?: number | bigint;
  hash?: Hash;
  seed?: number | bigint;
  /** 16 bytes, for siphash13. */
  key?: Uint8Array;
  tagBits?: number | bigint;
  generations?: number | bigint;
  window?: number | bigint;
  maxNkeys?: number | bigint;
  maxNbytes?: number | bigint;
  concurrent?: boolean;
  storeKey?: boolean;
  unique?: boolean;
  noVerify?: boolean;
  /** Range filters: how many numbers the longest range has for which the FPR is planned. */
  rangeLength?: number | bigint;
  /** Of a text, how it ends in a number; 'decimal' unless told. In plan(), which knows no keyType, they change nothing. */
  rangeKeys?: 'be8' | 'be4' | 'decimal';
  /** The byte that the prefix before the number ends in; 0: any. */
  rangeDelimiter?: number;
  /** Not of other systems' layouts, which cannot state it. */
  keyType?: KeyType;
}

export interface Plan {
  kind: Kind;
  k: number;
  nkeys: number;
  nbits: number;
  nbytes: number;
  nbytesFile: number;
  nbytesBuild: number;
  bitsPerKey: number;
  fpr: number;
  fprLimit: number;
  windowError: number;
  generations: number;
  tagBits: number;
}

export interface Stats {
  kind: Kind | 'range' | 'auto';
  hash: string;
  k: number;
  nkeys: number;
  nkeysEstimated: number;
  nbits: number;
  nbitsSet: number;
  nbytes: number;
  fill: number;
  utilisation: number;
  fprNow: number;
  fprPlanned: number;
  overloaded: boolean;
  derived: boolean;
  readOnly: boolean;
  locked: boolean;
  storesKey: boolean;
  nlevels: number;
  tagBits: number;
  nstuck: number;
  nrefused: number;
  clock: number;
  /** a block, or the whole array, has no clear bit: nkeysEstimated and utilisation are lower bounds */
  saturated: boolean;
  /** of a range filter: as planned; a range within two neighbouring blocks is answered; 1: without false positives */
  rangeLength?: number;
  rangeBlock?: number;
  rangeExact?: number;
  rangeShift?: number;
}

export interface Overlap {
  nkeysA: number;
  nkeysB: number;
  nkeysUnion: number;
  nkeysIntersection: number;
  jaccard: number;
}

export type Traits = Record<
  'add' | 'remove' | 'merge' | 'intersect' | 'fold' | 'count' | 'grow' | 'expire' | 'range', boolean>;

/** A step of an explanation: nay_explain.h. Positions are bits of payload(). */
export interface Step {
  kind: 'bit' | 'fingerprint' | 'slot' | 'xor' | 'column' | 'constant' | 'value' | 'answer' | 'unknown';
  ok: boolean;
  group: number;
  level: number;
  index: number;
  nsteps: number;
  unit: string;
  unitIndex: number;
  unitBit: number;
  unitNbits: number;
  bit: number;
  bit2: number;
  nbits: number;
  nbits2: number;
  mask: bigint;
  mask2: bigint;
  found: bigint;
  expected: bigint;
  counter: number;
}

export interface Explanation {
  maybe: boolean;
  reason: number;
  reasonText: string;
  hashKind: string;
  hash: bigint;
  hashHi: bigint;
  seed: bigint;
  premix: bigint;
  word: bigint;
  nshards: number;
  shard: number;
  shardSeed: bigint;
  nsteps: number;
  nfailed: number;
  ngroups: number;
  group: number;
  level: number;
  payloadNbytes: number;
  steps: Step[];
}

declare global {
  interface SymbolConstructor {
    /** As the libraries esnext.disposable and @types/node declare it. */
    readonly dispose: unique symbol;
  }
}

interface Owned {
  /** Releases the memory; the object cannot be used any more. Not needed, but prompt. */
  free(): void;
  /** free(), at the end of a block: `using filter = ...`. Where the engine has Symbol.dispose. */
  [Symbol.dispose](): void;
}

export interface Filter extends Owned {
  readonly kind: Kind | 'range' | 'auto';
  readonly traits: Traits;
  /** The user's own bytes, kept in the file. */
  meta: Uint8Array | null;
  /** What the filter states of its keys; setting it changes no key. */
  keyType: KeyType;

  /** Whether the filter would have said nay before. */
  add(key: Key): boolean;
  /** false is certain; true is a maybe. */
  has(key: Key): boolean;
  /**
   * Of a range filter: whether a key may lie between two, both included; false is certain. Strings are values of the keyType.
   */
  hasRange(lo: Key, hi: Key): boolean;
  /** false: the key tests nay, and nothing changed. Never remove a key that was not added. */
  remove(key: Key): boolean;
  count(key: Key): number;
  hash(key: Key): bigint;

  /** How many keys there were. A key that cannot be encoded is found before any is added. */
  addMany(keys: Keys, options?: KeysOptions): number;
  /** 1 for each key that was new. */
  addManyNew(keys: Keys, options?: KeysOptions): Uint8Array;
  /** 1 for each maybe, 0 for each nay. */
  hasMany(keys: Keys, options?: KeysOptions): Uint8Array;
  hashMany(keys: Keys, options?: KeysOptions): BigUint64Array;
  removeHash(hash: bigint): boolean;

  merge(other: Filter, options?: { maxFpr?: number }): this;
  intersect(other: Filter): this;
  overlap(other: Filter): Overlap;
  fold(factor: number | bigint): this;
  foldFactor(maxFpr: number): number;
  shrink(nbytes: number | bigint): this;
  advance(now: number | bigint): this;
  clear(): this;
  unlock(key: Uint8Array): this;
  copy(): Filter;
  stats(): Stats;
  params(): Params;
  /** Why has() answers as it does; a bigint is a hash. */
  explain(key: Key | bigint): Explanation;
  payload(): Uint8Array;
  /** The native file: what `nay` on the command line opens. */
  encode(): Uint8Array;
}

export interface FilterClass {
  plan(params: Params): Plan;
  /** An empty filter that takes adds. */
  create(params: Params): Filter;
  /** A filter of these keys; the only way to make the static kinds: xor, fuse, ribbon. */
  build(keys: Keys, params: Params, options?: KeysOptions): Filter;
  /** A native file. Everything is checked: whoever wrote the bytes, the filter is safe to query. */
  open(bytes: Uint8Array | ArrayBuffer): Filter;
}

export interface MapParams {
  valueBits?: number;
  checkBits?: number;
  hash?: Hash;
  seed?: number | bigint;
  key?: Uint8Array;
  storeKey?: boolean;
  noVerify?: boolean;
  keyType?: KeyType;
}

export interface MapStats {
  nkeys: number;
  valueBits: number;
  checkBits: number;
  nbits: number;
  nbytes: number;
  bitsPerKey: number;
  errorRate: number;
  nlayers: number;
  hash: string;
  readOnly: boolean;
  locked: boolean;
  storesKey: boolean;
}

export interface StaticMap extends Owned {
  meta: Uint8Array | null;
  keyType: KeyType;
  /** A key outside the set gets an arbitrary value, or undefined where the map has check bits. A bigint
   * is a hash, where the caller hashes. */
  get(key: Key | bigint): bigint | undefined;
  stats(): MapStats;
  unlock(key: Uint8Array): this;
  encode(): Uint8Array;
}

export interface StaticMapClass {
  build(pairs: Iterable<readonly [Key | bigint, number | bigint]>, params?: MapParams): StaticMap;
  open(bytes: Uint8Array | ArrayBuffer): StaticMap;
}

/** Layouts of other systems: nay_format.h. */
export interface Formats {
  list(): { name: string; about: string; hasMagic: boolean; hasChecksum: boolean }[];
  recognise(bytes: Uint8Array | ArrayBuffer): string | null;
  plan(name: string, params: Params): Plan;
  create(name: string, params: Params): Filter;
  build(name: string, keys: Keys, params: Params, options?: KeysOptions): Filter;
  open(name: string, bytes: Uint8Array | ArrayBuffer): Filter;
  of(filter: Filter): string;
  caveat(filter: Filter): string | null;
  encode(name: string, filter: Filter): Uint8Array;
}

export interface TableEntry {
  key: Uint8Array;
  value: Uint8Array;
  sequence: bigint;
  deleted: boolean;
}

export interface TableInfo {
  keys: 'auto' | 'plain' | 'internal';
  keysGuessed: boolean;
  nbytes: number;
  nblocks: number;
  filter: 'none' | 'block' | 'full' | 'partitioned';
  filterUsed: boolean;
  filterBytes: number;
  npartitions: number;
  policy: string | null;
  prefix: string | null;
  prefixUsed: boolean;
  prefixBytes: number;
  smallest: Uint8Array | null;
  largest: Uint8Array | null;
  /** null: an engine wrote the table that states none. */
  keyType: KeyType | null;
  caveats: string[];
}

export type TableCounters = Record<
  | 'gets' | 'outOfRange' | 'filterChecks' | 'filterUseful' | 'filterFalsePositives' | 'filterFaults'
  | 'filterLoads' | 'prefixChecks' | 'prefixUseful' | 'hashes' | 'blockReads' | 'cacheHits', number>;

/** A sorted table of LevelDB or nay, or of another engine by its layout: nay_sst.h. */
export interface Table extends Owned, Iterable<TableEntry> {
  get(key: Key): { value: Uint8Array; sequence: bigint; deleted: boolean } | undefined;
  has(key: Key): boolean;
  info(): TableInfo;
  counters(): TableCounters;
  entries(options?: { from?: Key; prefix?: Key }): Generator<TableEntry>;
}

export interface TableClass {
  open(bytes: Uint8Array | ArrayBuffer, options?: { layout?: string; key?: Uint8Array }): Table;
  layouts(): string[];
}

export interface TableFiltersInfo {
  engine: string;
  formatVersion: number;
  checksum: string;
  layout: 'none' | 'block' | 'full' | 'partitioned';
  policy: string | null;
  policyOption: string | null;
  prefix: string | null;
  wholeKeys: boolean;
  prefixes: boolean;
  understood: boolean;
  indexKnown: boolean;
  nkeys: number;
  nentries: number;
  nfilters: number;
  nempty: number;
  ndamaged: number;
  nbytes: number;
  keyType: KeyType | null;
  caveats: string[];
}

/** The filters inside a table of LevelDB, RocksDB, nay, nori or mini-lsm: nay_sst_filters.h. */
export interface TableFilters extends Owned {
  has(key: Key): boolean;
  info(): TableFiltersInfo;
  filters(): Generator<{
    bytes: Uint8Array;
    offset: number;
    damaged: boolean;
    ofPrefixes: boolean;
    format: string | null;
    lastKey: Uint8Array | null;
  }>;
  explain(key: Key): {
    maybe: boolean;
    probes: { offset: number; damaged: boolean; maybe: boolean; keyLen: number }[];
  };
}

export interface TableFiltersClass {
  recognise(bytes: Uint8Array | ArrayBuffer): boolean;
  open(bytes: Uint8Array | ArrayBuffer, options?: { layout?: string }): TableFilters;
}

/** The tree and the budget, one of nbytes, bitsPerKey, fpr: nay_sst_plan.h. */
export interface LsmParams {
  nkeys: number | bigint;
  ratio: number | bigint;
  nkeysMemtable?: number | bigint;
  nkeysTable?: number | bigint;
  nbytes?: number | bigint;
  bitsPerKey?: number;
  fpr?: number;
  nrunsLevel0?: number;
  merging?: 'leveled' | 'tiered' | 'lazy-leveled';
  /** 'auto-static' is for plan() alone, which chooses among xor, fuse and ribbon. 'range': needs rangeLength, see hasRange(). */
  kind?: Kind | 'range' | 'auto' | 'auto-static';
}

export interface LsmLevel {
  level: number;
  /** 'auto': no filter. */
  kind: Kind | 'auto';
  nkeys: number;
  nruns: number;
  nfilters: number;
  nkeysFilter: number;
  nbytesFilter: number;
  nbytes: number;
  bitsPerKey: number;
  fpr: number;
  absentReads: number;
  why: string;
}

export interface LsmPlan {
  levels: LsmLevel[];
  nlevels: number;
  nkeys: number;
  nruns: number;
  nfilters: number;
  nbytes: number;
  nbytesBudget: number;
  bitsPerKey: number;
  absentReads: number;
  presentWaste: number;
}

/**
 * An event that the library recorded: its name, level and index, and fields that depend on the event
 * (trace.kinds lists them; src/base/trace.h says what they are).
 */
export interface TraceEvent {
  event: string;
  level: number;
  index: number;
  [field: string]: string | number | bigint | boolean | [number, number];
}

/** Runs something and returns what happened meanwhile: the last `capacity` events, and how many were lost. */
export interface Trace {
  <T>(run: () => T, options?: { capacity?: number }): { value: T; events: TraceEvent[]; lost: number };
  readonly kinds: { event: string; fields: string[] }[];
}

/** Typed values as key bytes, the same as in every other program that uses nay. */
export interface TypedKeys {
  int(value: number | bigint): Uint8Array;
  float(value: number): Uint8Array;
  parse(
    type: 'text' | 'int' | 'float' | 'bool' | 'date' | 'timestamp' | 'uuid' | 'numeric' | 'hex' | 'b64'
      | 'ordered-int' | 'ordered-float' | 'ordered-date' | 'ordered-timestamp',
    text: string,
  ): Uint8Array;
}

export interface Library {
  readonly version: string;
  /** The name and the text of the status of a NayError; the name of an unknown one is null. */
  status(number: number): { name: string | null; text: string };
  readonly kinds: Kind[];
  /** Whether formats, Table, TableFilters and planLsm are there: load({ full: true }). */
  readonly full: boolean;
  readonly Filter: FilterClass;
  readonly StaticMap: StaticMapClass;
  readonly key: TypedKeys;
  readonly formats?: Formats;
  readonly Table?: TableClass;
  readonly TableFilters?: TableFiltersClass;
  /** How many bits per key each level of an LSM tree gets: the same for all, and by Monkey's allocation. */
  readonly planLsm?: (params: LsmParams) => { uniform: LsmPlan; monkey: LsmPlan };
  /** Only in the module libnay-trace.wasm, which the package does not have. */
  readonly trace?: Trace;
  traits(kind: Kind): Traits;
  /** XXH3 of a key, seed 0: the hash of a filter with default parameters. */
  hash(key: Key): bigint;
  /** A bijection of 64 bits that makes sequential integers look random (SplitMix64). */
  mix(value: number | bigint): bigint;
  /** Bytes of the module's memory. */
  memoryUsed(): number;
}

export type FullLibrary = Library & Required<Pick<Library, 'formats' | 'Table' | 'TableFilters' | 'planLsm'>>;

export interface LoadOptions {
  /** The module: its bytes, a URL, or compiled; else the one beside this file. */
  wasm?: Uint8Array | ArrayBuffer | URL | string | WebAssembly.Module;
  /** Vector instructions; if not told, where the engine has them. */
  simd?: boolean;
  /** Also other systems' layouts and sorted tables, in a larger module. */
  full?: boolean;
  /** A limit on the module's memory, in bytes. */
  maxMemory?: number;
}

export function load(options: LoadOptions & { full: true }): Promise<FullLibrary>;
export function load(options?: LoadOptions): Promise<Library>;
export function hasSimd(): boolean;

/** What every call throws that fails; what it worked on is as it was. */
export class NayError extends Error {
  readonly status: number;
  /** 'ENOMEM', 'EINVAL', 'ENOTSUP', 'EMISMATCH', 'ECORRUPT', ... as in nay.h. */
  readonly statusName: string;
  /** Of the input: the byte, or of a string the character, that is to blame; 0 when none is. */
  readonly offset: number;
  /** Of a batch of adds: how many of its keys were added before the one that failed. */
  readonly taken?: number;
}
