/*
 * number.js - numbers as people write and read them: 1M, 10k, 1e6, 1,000,000, 1%, 1/256, 64 KiB.
 * A number out of its range is an error with a sentence, never clamped in silence.
 */

const SCALES = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  b: 1,
  ki: 1024,
  mi: 1024 ** 2,
  gi: 1024 ** 3,
  ti: 1024 ** 4,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
};

function plainNumber(text) {
  return /^[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?$|^[0-9]+\.$/i.test(text) ? Number(text) : NaN;
}

/* readNumber: the number a text means, or NaN. */
export function readNumber(text) {
  const clean = String(text)
    .trim()
    .replace(/(?<=[0-9]),(?=[0-9]{3})/g, '')
    .replace(/\s+/g, '');
  const fraction = /^([^/]+)\/([^/]+)$/.exec(clean);
  if (fraction) return readNumber(fraction[1]) / readNumber(fraction[2]);
  if (clean.endsWith('%')) return plainNumber(clean.slice(0, -1)) / 100;
  const unit = /^(.*?[0-9.])([a-z]*)$/i.exec(clean);
  if (!unit) return NaN;
  if (Number.isFinite(plainNumber(clean))) return plainNumber(clean);
  const scale = SCALES[unit[2].toLowerCase()];
  return scale === undefined ? NaN : plainNumber(unit[1]) * scale;
}

/* parseNumber: {value} or {error}, by the limits of a field. */
export function parseNumber(text, { min, max, whole = false, show = String }) {
  const value = readNumber(text);
  if (!Number.isFinite(value)) return { error: `\u201c${String(text).slice(0, 30)}\u201d is no number.` };
  if (whole && !Number.isInteger(value)) return { error: 'A whole number is needed.' };
  if (value < min) return { error: `The least is ${show(min)}.` };
  if (value > max) return { error: `The most is ${show(max)}.` };
  return { value };
}

/* count: 1,234,567. */
export function count(n) {
  return Math.round(n).toLocaleString('en');
}

/* bytes: 1.21 MiB. */
export function bytes(n) {
  for (const [scale, unit] of [
    [1024 ** 4, 'TiB'],
    [1024 ** 3, 'GiB'],
    [1024 ** 2, 'MiB'],
    [1024, 'KiB'],
  ]) {
    if (n >= scale) return `${Number((n / scale).toPrecision(3))} ${unit}`;
  }
  return `${count(n)} B`;
}

/* percent: 0.99%, and below a ten-thousandth as a power of ten. */
export function percent(p, digits = 3) {
  if (!Number.isFinite(p)) return 'unknown';
  if (p === 0) return '0%';
  if (p >= 1e-5) return `${Number((p * 100).toPrecision(digits))}%`;
  const e = Math.floor(Math.log10(p));
  const lead = Number((p / 10 ** e).toPrecision(2));
  return `${lead === 1 ? '' : `${lead}\u00b7`}10${superscript(e)}`;
}

/* superscript: the digits of a power of ten, raised. */
function superscript(e) {
  return String(e)
    .replace('-', '\u207b')
    .replace(/[0-9]/g, (d) => '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[d]);
}

/* money: 12.30, four digits below a cent. */
export function money(x) {
  if (x === 0) return '0';
  if (x < 0.01) return x < 1e-6 ? '< 0.000001' : x.toPrecision(2).replace(/e.*/, '');
  return x.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/* wilson: the 95% interval of a rate of which `hits` of `n` trials were seen (Wilson's score interval). */
export function wilson(hits, n) {
  if (n === 0) return [0, 1];
  const z = 1.959964;
  const p = hits / n;
  const mid = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  return [Math.max(0, mid - half), Math.min(1, mid + half)];
}
