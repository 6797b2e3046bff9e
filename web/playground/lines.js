/*
 * lines.js - a key, its hash, and lines to the bits that it chooses: a small filter as an SVG. Everything that is drawn
 * comes from an explanation of the library (nay_explain.h) and from the payload.
 */
import { svg, shorten } from './dom.js';
import { readBits } from './stage.js';

const TOP = 96; /* of the bits, below the key and its hash */
const GAP = 16; /* below a row, with the numbers of its bits */

/* cellsOf: how many bits stand in a row, and how large they are, for a width. */
function cellsOf(nbits, width) {
  const most = width >= 560 ? 32 : 16;
  const cols = Math.min(nbits, most);
  return { cols, size: Math.min(46, Math.floor((width - 2) / cols)) };
}

/*
 * linesPicture: nbits bits of a payload from base on; why: an explanation, or null; key: its text; word: what the key
 * does, "chooses", "sets" or "reads": a 0 that is read is a ring of its own. width is that of the element it goes into.
 */
export function linesPicture({ payload, base, nbits, why = null, key = '', word = 'reads', width }) {
  const { cols, size } = cellsOf(nbits, width);
  const rows = Math.ceil(nbits / cols);
  const top = why ? TOP : 8;
  const height = top + rows * (size + GAP) + 4;
  const at = (i) => [(i % cols) * size + size / 2, top + Math.floor(i / cols) * (size + GAP)];
  const steps = why ? why.steps.filter((s) => s.kind === 'bit') : [];
  const stop = word === 'reads' ? steps.findIndex((s) => s.found === 0n) : -1; /* nothing after it is needed */
  const needed = stop < 0 ? steps : steps.slice(0, stop + 1);
  const told = steps.length === 0 ? '' : `Lines lead from the hash of ${shorten(key, 24)} to bits ${steps.map((s) => s.bit - base).join(', ')}. ${stop < 0 || needed.length === steps.length ? '' : `The probe ends at bit ${steps[stop].bit - base}. `}`;
  const ones = Array.from({ length: nbits }, (_, i) => i).filter((i) => readBits(payload, base + i, 1) === 1);
  const root = svg('svg', {
    class: 'plot lines',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `${nbits} bits. ${told}${ones.length === 0 ? 'No bit is 1.' : `These are 1: ${ones.join(', ')}.`}`,
  });
  const middle = Math.min(width / 2, (cols * size) / 2);
  if (why) root.append(...keyAndHash(why, key, middle, width));
  for (const [i, s] of steps.entries()) root.append(lineTo(at(s.bit - base), middle, i, needed.includes(s) ? (i === stop ? 'way zero' : 'way') : 'way later'));
  for (let i = 0; i < nbits; i += 1) root.append(bitBox(at(i), size, i, ones.includes(i), steps.find((s) => s.bit - base === i), needed.find((s) => s.bit - base === i), word));
  return root;
}

function keyAndHash(why, key, middle, width) {
  const hash = BigInt(why.hash).toString(16).padStart(16, '0');
  const half = Math.min(width / 2 - 4, 84);
  return [
    svg('text', { x: middle, y: 14, class: 'key' }, `\u201c${shorten(key, 24)}\u201d`),
    svg('path', { d: `M${middle} 20 V32`, class: 'arrow' }),
    svg('rect', { x: middle - half, y: 32, width: 2 * half, height: 24, rx: 7, class: 'hash' }),
    svg('text', { x: middle, y: 48, class: 'hashtext' }, hash),
  ];
}

function lineTo([x, y], middle, i, name) {
  const d = `M${middle} 56 C${middle} ${y - 14} ${x} ${y - 26} ${x} ${y - 1}`;
  return svg('path', { d, pathLength: 1, class: name, style: `animation-delay: ${i * 0.25}s` });
}

function bitBox([x, y], size, i, one, step, read, word) {
  const side = size - 4;
  const ring = read ? (one || word !== 'reads' ? 'ok' : 'zero') : null;
  return svg(
    'g',
    { class: ['bit', one ? 'one' : null, ring].filter((c) => c).join(' ') },
    svg('rect', { x: x - side / 2, y, width: side, height: side, rx: Math.min(7, side / 5) }),
    svg('text', { x, y: y + side / 2 + 4, class: 'value' }, one ? '1' : '0'),
    step || i % 8 === 0 ? svg('text', { x, y: y + side + 12, class: step ? 'at read' : 'at' }, i) : null,
    size >= 20 ? svg('title', null, `bit ${i} is ${one ? 1 : 0}`) : null,
  );
}
