/*
 * stage.js - the payload of a filter as cells that light up: bits, or slots of several bits.
 *
 * A *group* is what a probe reads at once (a cache line, a bucket, a segment): {label, base, width,
 * ncells, cols, hues, level, unit}: base is the first bit in the payload, width the bits of a cell;
 * the others may be missing. The stage keeps a
 * copy of the payload, `shown`, which lags behind the filter while steps are played. A mark is a ring
 * round a cell: what a step reads. A frame draws only the cells that changed since the last one, and never
 * more than MOST.cells: a filter of 10^5 bits is as cheap to animate as one of 100, and is drawn in some frames.
 */
import { h } from './dom.js';
import { animate, room, spend } from './frames.js';
import { colour } from './density.js';
import { unitWord } from './groups.js';

export const MARK = { none: 0, ok: 1, fail: 2, changed: 3, unit: 4 };
const GAP = 10;
const LABEL = 17;
export const HUES = ['--s1', '--s2', '--s3', '--s4', '--s6', '--s7', '--s9', '--s5']; /* of generations */

/* readBits: up to 32 bits of a payload, least significant first. */
export function readBits(bytes, bit, nbits) {
  let value = 0;
  for (let i = 0; i < nbits; i += 1) {
    const b = bit + i;
    value += ((bytes[Math.floor(b / 8)] >> (b % 8)) & 1) * 2 ** i;
  }
  return value;
}

/* writeBits: the reverse. */
export function writeBits(bytes, bit, nbits, value) {
  for (let i = 0; i < nbits; i += 1) {
    const b = bit + i;
    const mask = 1 << (b % 8);
    if (Math.floor(value / 2 ** i) % 2 === 1) bytes[Math.floor(b / 8)] |= mask;
    else bytes[Math.floor(b / 8)] &= ~mask;
  }
}

export class Stage {
  constructor({ label, onpick, describe }) {
    this.onpick = onpick;
    this.describe = describe;
    this.canvas = h('canvas', {
      role: 'application' /* arrow keys go from cell to cell, which an image cannot */,
      'aria-roledescription': 'picture of bits',
      tabindex: 0,
      'aria-label': label,
      onkeydown: (e) => this.move(e),
      onblur: () => {
        this.tip.hidden = true;
      },
    });
    this.tip = h('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
    this.element = h('div', { class: 'stage' }, this.canvas, this.tip);
    this.groups = [];
    this.shown = new Uint8Array(0);
    this.marks = new Map(); /* cell -> MARK */
    this.notes = new Map(); /* cell -> text in it, such as a counter */
    this.dirty = new Set();
    this.next = 0; /* the first cell of those that are to be drawn one after the other */
    this.canvas.addEventListener('pointermove', (e) => this.hover(e));
    this.canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    this.canvas.addEventListener('click', (e) => {
      const cell = this.cellAt(e);
      if (cell !== null && this.onpick) this.onpick(cell);
    });
    this.again = () => this.resize();
    addEventListener('themechange', this.again);
    addEventListener('resize', this.again);
  }

  close() {
    this.later?.();
    removeEventListener('themechange', this.again);
    removeEventListener('resize', this.again);
  }

  label(text) {
    this.canvas.setAttribute('aria-label', text);
  }

  /* show: a payload and how it is divided into groups. */
  show(groups, payload) {
    this.groups = groups;
    this.shown = payload.slice();
    let first = 0;
    this.units = new Map();
    for (const [i, g] of groups.entries()) {
      g.first = first;
      first += g.ncells;
      this.units.set(`${g.level ?? 0}/${g.unit ?? i}`, g.base);
    }
    this.ncells = first;
    this.hasLevels = groups.some((g) => g.level !== undefined);
    this.unitWord = groups.length > 0 ? unitWord('block', groups[0].ncells * groups[0].width) : '';
    if (groups.length === 0) this.canvas.height = 1;
    this.marks.clear();
    this.notes.clear();
    this.resize();
  }

  /* resize: the size of cells from the width there is, then everything anew. */
  resize() {
    const width = this.element.clientWidth;
    if (width === 0 || this.groups.length === 0) return;
    this.colours();
    this.arrange(width);
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = width * ratio;
    this.canvas.height = Math.max(1, this.height) * ratio;
    this.canvas.style.height = `${Math.max(1, this.height)}px`;
    this.ink = this.canvas.getContext('2d');
    this.ink.scale(ratio, ratio);
    this.drawAll();
  }

  colours() {
    const css = (name) => `rgb(${colour(name)})`;
    this.palette = {
      zero: css('--cell0'),
      one: css('--cell1'),
      panel: css('--panel'),
      ink: css('--ink'),
      soft: css('--soft'),
      on: css('--paper'),
      ring: { 1: css('--amber2'), 2: css('--pink'), 3: css('--amber2'), 4: css('--soft') },
    };
    this.mix = [colour('--cell0'), colour('--cell1')];
    this.hues = HUES.map(css);
  }

  /* arrange: the largest cells with which all groups fit into a height that fits a screen. */
  arrange(width) {
    const most = this.groups.reduce((a, g) => Math.max(a, g.ncells), 0);
    const titled = this.groups.some((g) => g.label) ? LABEL : 0;
    const limit = this.ncells > 40000 ? 760 : 430;
    const top = this.groups[0].width > 1 ? 46 : this.groups.length > 1 ? 26 : this.ncells <= 64 ? 34 : 30;
    for (let size = top; size >= 2; size -= 1) {
      const cols = this.columns(most, size, width);
      if (cols === 0) continue;
      const perRow = Math.max(1, Math.floor((width + GAP) / (cols * size + GAP)));
      const height = Math.ceil(this.groups.length / perRow) * (Math.ceil(most / cols) * size + titled + GAP) - GAP;
      if (height <= limit || size === 2) {
        Object.assign(this, {
          size,
          cols,
          perRow,
          titled,
          height,
          groupHeight: Math.ceil(most / cols) * size + titled + GAP,
        });
        return;
      }
    }
  }

  /* columns: cells side by side in a group. One group takes the whole width, in rows of equal length. */
  columns(ncells, size, width) {
    const most = Math.floor(width / size);
    if (this.groups.length === 1) return Math.ceil(ncells / Math.ceil(ncells / most));
    const wish = this.groups[0].cols ?? (ncells <= 8 ? ncells : ncells <= 64 ? 16 : ncells <= 600 ? 32 : 64);
    if (wish <= most) return wish;
    return size > (this.groups[0].cols ? 2 : 10) ? 0 : 2 ** Math.floor(Math.log2(Math.max(1, most)));
  }

  place(cell) {
    const i = this.groupOf(cell);
    const g = this.groups[i];
    const at = cell - g.first;
    const cols = this.colsOf(g);
    const x = (i % this.perRow) * (this.cols * this.size + GAP) + (at % cols) * this.size;
    const y = Math.floor(i / this.perRow) * this.groupHeight + this.titled + Math.floor(at / cols) * this.size;
    return [x, y];
  }

  /* colsOf: of one group; a short one keeps its own rows. */
  colsOf(g) {
    return g.cols && g.cols < this.cols ? g.cols : this.cols;
  }

  groupOf(cell) {
    let low = 0;
    let high = this.groups.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.groups[mid].first <= cell) low = mid;
      else high = mid - 1;
    }
    return low;
  }

  /* cellOf: the cell that holds a bit of the payload; -1 when none does. */
  cellOf(bit) {
    for (let i = this.lastGroup ?? 0, n = 0; n < this.groups.length; n += 1, i = (i + 1) % this.groups.length) {
      const g = this.groups[i];
      if (g && bit >= g.base && bit < g.base + g.ncells * g.width) {
        this.lastGroup = i;
        return g.first + Math.floor((bit - g.base) / g.width);
      }
    }
    this.lastGroup = 0;
    return -1;
  }

  /* bitOf: the first bit of a cell. */
  bitOf(cell) {
    const g = this.groups[this.groupOf(cell)];
    return g.base + (cell - g.first) * g.width;
  }

  value(cell) {
    const g = this.groups[this.groupOf(cell)];
    return readBits(this.shown, g.base + (cell - g.first) * g.width, g.width);
  }

  /* write: bits of the shown payload; the value that was there. */
  write(bit, nbits, value) {
    const before = readBits(this.shown, bit, nbits);
    writeBits(this.shown, bit, nbits, value);
    const cell = this.cellOf(bit);
    if (cell >= 0) this.dirty.add(cell);
    return before;
  }

  mark(bit, mark) {
    const cell = this.cellOf(bit);
    if (cell < 0) return;
    this.marks.set(cell, mark);
    this.dirty.add(cell);
  }

  /* note: a text in a cell, null takes it away; returns the one before. */
  note(bit, text) {
    const cell = this.cellOf(bit);
    if (cell < 0) return null;
    const before = this.notes.get(cell) ?? null;
    if (text === null) this.notes.delete(cell);
    else this.notes.set(cell, text);
    this.dirty.add(cell);
    return before;
  }

  /* unit: the first bit of a cache line or unit of a level. */
  unit(level, index) {
    return this.units.get(`${level}/${index}`) ?? 0;
  }

  clearMarks() {
    for (const cell of this.marks.keys()) this.dirty.add(cell);
    this.marks.clear();
  }

  /* flush: draws what changed, as much as this frame may, and the rest in the next. A ring reaches into the neighbours, so those are drawn too. */
  flush() {
    this.later?.();
    this.later = null;
    if (!this.ink || !this.size) return;
    const cost = this.size >= 9 ? 4 : 1;
    let left = Math.floor(room('cells') / cost);
    const before = left;
    for (const cell of this.dirty) {
      if (left === 0) break;
      this.drawCell(cell);
      this.dirty.delete(cell);
      left -= 1;
    }
    for (; left > 0 && this.next < this.ncells; left -= 1) {
      this.drawCell(this.next);
      this.next += 1;
    }
    spend('cells', (before - left) * cost);
    const more = this.dirty.size > 0 || this.next < this.ncells; /* marks make their neighbours dirty, for the next time */
    for (const [cell, mark] of this.marks) this.drawMark(cell, mark);
    if (more)
      this.later = animate(() => {
        this.flush();
        return false;
      });
  }

  drawAll() {
    const { ink } = this;
    ink.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ink.font = '12px system-ui, sans-serif';
    ink.textBaseline = 'alphabetic';
    ink.textAlign = 'left';
    ink.fillStyle = this.palette.soft;
    for (const g of this.groups) {
      if (!g.label) continue;
      const [x, y] = this.place(g.first);
      ink.fillText(g.label, x, y - 5);
    }
    this.dirty.clear();
    this.next = 0;
    this.flush();
  }

  drawCell(cell) {
    const { ink, size, palette } = this;
    const g = this.groups[this.groupOf(cell)];
    const [x, y] = this.place(cell);
    const value = this.value(cell);
    const inner = size >= 5 ? size - Math.max(1, Math.round(size / 10)) : size;
    ink.fillStyle = palette.panel;
    ink.fillRect(x, y, size, size);
    ink.fillStyle =
      g.width === 1
        ? value === 0
          ? palette.zero
          : g.hues
            ? this.hues[((cell - g.first) % g.hues) % HUES.length]
            : palette.one
        : this.shade(value, g.width, cell);
    if (size >= 9) {
      ink.beginPath();
      ink.roundRect(x, y, inner, inner, Math.min(5, inner / 5));
      ink.fill();
    } else ink.fillRect(x, y, inner, inner);
    const text = this.cellText(cell, value, g);
    if (text !== '') {
      ink.fillStyle = g.width === 1 && value === 0 ? palette.soft : g.width === 1 ? palette.on : palette.ink;
      ink.font = `${Math.min(13, Math.round(size * 0.42))}px ui-monospace, "DejaVu Sans Mono", monospace`;
      ink.textAlign = 'center';
      ink.textBaseline = 'middle';
      ink.fillText(text, x + inner / 2, y + inner / 2 + 0.5);
    }
  }

  /* slotColour: what a legend shows for a slot that is not empty: the shade that drawCell takes. */
  slotColour() {
    const share = this.size >= 18 ? 30 : 65;
    return `color-mix(in srgb, var(--cell1) ${share}%, var(--cell0))`;
  }

  /* shade: of a slot; empty slots have no colour, others a light one, so that text stays readable. */
  shade(value, width, cell) {
    if (value === 0 && !this.notes.has(cell)) return this.palette.zero;
    const t = this.size >= 18 ? 0.3 : 0.35 + (0.6 * value) / 2 ** width;
    return `rgb(${this.mix[0].map((z, c) => Math.round(z + t * (this.mix[1][c] - z)))})`;
  }

  cellText(cell, value, g) {
    const note = this.notes.get(cell);
    if (note !== undefined && this.size >= 12) return note;
    if (g.width === 1) return this.size >= 24 && this.groups.length === 1 ? String(cell) : '';
    if (this.size < 24 || value === 0) return '';
    return value.toString(16).padStart(Math.ceil(g.width / 4), '0');
  }

  drawMark(cell, mark) {
    const { ink, size } = this;
    const [x, y] = this.place(cell);
    const inner = size >= 5 ? size - Math.max(1, Math.round(size / 10)) : size;
    ink.strokeStyle = this.palette.ring[mark];
    ink.setLineDash(mark === MARK.fail && size >= 12 ? [4, 3] : []);
    ink.lineWidth = size >= 12 ? 3 : 2;
    const d = size >= 12 ? 1.5 : -1;
    ink.strokeRect(x + d, y + d, inner - 2 * d, inner - 2 * d);
    ink.setLineDash([]);
    if (size < 12)
      for (const other of [cell - 1, cell + 1, cell - this.cols, cell + this.cols])
        if (other >= 0 && other < this.ncells) this.dirty.add(other);
  }

  cellAt(event) {
    if (!this.size) return null;
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const gw = this.cols * this.size + GAP;
    const i = Math.floor(y / this.groupHeight) * this.perRow + Math.floor(x / gw);
    const col = Math.floor((x % gw) / this.size);
    const row = Math.floor(((y % this.groupHeight) - this.titled) / this.size);
    const g = this.groups[i];
    if (!g || col >= this.colsOf(g) || row < 0 || Math.floor(x / gw) >= this.perRow) return null;
    const at = row * this.colsOf(g) + col;
    return at < g.ncells ? g.first + at : null;
  }

  /* move: arrow keys go from cell to cell and say what is there, as the pointer does. */
  move(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.cols, ArrowUp: -this.cols }[event.key];
    if (by === undefined || !this.size || !this.describe) return;
    event.preventDefault();
    this.cursor = Math.max(0, Math.min(this.ncells - 1, (this.cursor ?? -1) + by));
    const [x, y] = this.place(this.cursor);
    this.showTip(this.describe(this.cursor), x + this.size, y + this.size);
    if (this.onpick) this.onpick(this.cursor);
  }

  showTip(text, x, y) {
    this.tip.textContent = text;
    this.tip.hidden = false;
    this.tip.style.left = `${Math.max(0, Math.min(x, this.element.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${y + 4}px`;
  }

  hover(event) {
    const cell = this.cellAt(event);
    if (cell === null || !this.describe) {
      this.tip.hidden = true;
      return;
    }
    const box = this.element.getBoundingClientRect();
    this.showTip(this.describe(cell), event.clientX - box.left + 14, event.clientY - box.top + 14);
  }
}
