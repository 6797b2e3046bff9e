// libnay: membership filters in WebAssembly. The certain answer is nay.
// One file, made by web/wasm/build from web/libnay/src; index.d.ts has the types, README.md the tour.

/** The name of each status of the library; nay.h has the list. */
const STATUS = new Map([
  [-1, 'ENOMEM'], [-2, 'EINVAL'], [-3, 'ENOTSUP'], [-4, 'EMISMATCH'], [-5, 'ECORRUPT'], [-6, 'EVERSION'],
  [-7, 'EFORMAT'], [-8, 'EKEY'], [-9, 'EBUFFER'], [-10, 'EIO'], [-11, 'EFULL'], [-12, 'ENOENT'],
  [-13, 'ECANCELED'], [-14, 'EEND'],
]);
export const ENOMEM = -1, EINVAL = -2, ENOTSUP = -3, EFORMAT = -7, EIO = -10, ENOENT = -12, EEND = -14;

/** What a call throws: the library's status, and which byte of the input is to blame, if one is. */
export class NayError extends Error {
  constructor(status, what, offset = 0) {
    super(what);
    this.name = 'NayError';
    this.status = status;
    this.statusName = STATUS.get(status) ?? 'unknown';
    this.offset = offset;
  }
}

/** The name here of a field of C. */
export const camel = (text) => text.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

export function refuse(what, offset) {
  throw new NayError(EINVAL, what, offset);
}

/** The options of a call, an object or nothing; a property that is none of the names is refused. */
export function optionsOf(options, names, what = 'options') {
  if (options === undefined) return {};
  if (options === null || typeof options !== 'object') refuse(`${what}: not an object`);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) refuse(`${what}.${name}: there is no such option`);
  }
  return options;
}
