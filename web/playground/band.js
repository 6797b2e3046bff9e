/*
 * band.js - the matrix of a ribbon filter while it is solved. Row s holds an equation whose first slot
 * is s and which reaches 128 slots to the right, so the matrix is a band along the diagonal. A row
 * that a key proposes is drawn in another colour until it is reduced and put.
 */
import { h } from './dom.js';
import { colour } from './density.js';

const MOST = 1024; /* slots that are drawn */

export class Band {
  constructor() {
    this.canvas = h('canvas', {
      role: 'img',
      'aria-label': 'The band matrix: a row for each slot, a dot for each slot that its equation adds up',
      class: 'band',
    });
    this.note = h('p', { class: 'note' });
    this.element = h('div', { hidden: true }, this.canvas, this.note);
    this.again = () => this.redraw();
    addEventListener('themechange', this.again);
    this.nslots = 0;
    this.rows = [];
  }

  close() {
    removeEventListener('themechange', this.again);
  }

  /* start: an empty matrix. */
  start(nslots) {
    this.nslots = nslots;
    this.rows = [];
    this.proposed = null;
    this.element.hidden = nslots === 0;
    const n = Math.min(MOST, nslots);
    this.canvas.width = Math.max(1, n);
    this.canvas.height = Math.max(1, n);
    this.ink = this.canvas.getContext('2d');
    this.note.textContent =
      nslots > MOST
        ? `The first ${MOST} of ${nslots.toLocaleString('en')} rows.`
        : 'Rows: equations. Columns: slots. Each row starts on the diagonal.';
    this.redraw();
  }

  redraw() {
    if (!this.ink) return;
    this.colours = {
      row: `rgb(${colour('--cell1')})`,
      proposed: `rgb(${colour('--amber2')})`,
      paper: `rgb(${colour('--cell0')})`,
      solved: `rgb(${colour('--green')})`,
    };
    this.ink.fillStyle = this.colours.paper;
    this.ink.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.rows.forEach((row, slot) => {
      if (row) this.line(slot, slot, row, this.colours.row);
    });
  }

  line(y, start, { low, high }, style) {
    if (y >= MOST) return;
    this.ink.fillStyle = style;
    for (let half = 0; half < 2; half += 1) {
      let word = half === 0 ? low : high;
      for (let i = start + 64 * half; word !== 0n; i += 1, word >>= 1n) if (word & 1n) this.ink.fillRect(i, y, 1, 1);
    }
  }

  wipe(y) {
    this.ink.fillStyle = this.colours.paper;
    this.ink.fillRect(0, y, this.canvas.width, 1);
    if (this.rows[y]) this.line(y, y, this.rows[y], this.colours.row);
  }

  /* propose: the equation of a key, before it is reduced; null takes it away. */
  propose(e) {
    if (this.proposed) this.wipe(this.proposed.start);
    this.proposed = e;
    if (e) this.line(e.start, e.start, e, this.colours.proposed);
  }

  row(slot, low, high) {
    this.rows[slot] = { low, high };
    this.wipe(slot);
  }

  clear(slot) {
    this.rows[slot] = null;
    this.wipe(slot);
  }

  /* solve: marks the rows of a block that back substitution has reached; null: none. */
  solve(block) {
    if (this.solved !== undefined && this.solved !== null)
      for (let s = this.solved * 128; s < (this.solved + 1) * 128; s += 1) if (s < this.canvas.height) this.wipe(s);
    this.solved = block;
    if (block !== null)
      for (let s = block * 128; s < (block + 1) * 128; s += 1)
        if (this.rows[s]) this.line(s, s, this.rows[s], this.colours.solved);
  }
}
