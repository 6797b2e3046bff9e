/*
 * density.js - any number of bits as one picture. Each cell of the picture stands for a power of two
 * of bits, at least one, and is as dark as the share of them that is set.
 */
import { h } from './dom.js';

const ONES = Uint8Array.from({ length: 256 }, (_, i) => {
  let n = 0;
  for (let x = i; x > 0; x &= x - 1) n += 1;
  return n;
});

/* colour: a custom property of the style, as [r, g, b]. */
export function colour(name) {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const hex = probe.fillStyle;
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/* setBits: how many bits of bytes[from, to) are 1. */
function setBits(bytes, from = 0, to = bytes.length) {
  let n = 0;
  for (let i = from; i < to; i += 1) n += ONES[bytes[i]];
  return n;
}

/* Density: a canvas for a payload. `onpick` gets the byte that was clicked. */
export class Density {
  constructor({ label, height = 220, onpick = null }) {
    this.height = height;
    this.onpick = onpick;
    this.canvas = h('canvas', { role: 'img', 'aria-label': label });
    if (onpick) this.canvas.addEventListener('click', (e) => this.pick(e));
    this.element = h('div', { class: 'stage' }, this.canvas);
    this.bytes = new Uint8Array(0);
    this.redraw = () => this.draw(this.bytes, this.nbits, this.marked);
    addEventListener('themechange', this.redraw);
    addEventListener('resize', this.redraw);
  }

  close() {
    removeEventListener('themechange', this.redraw);
    removeEventListener('resize', this.redraw);
  }

  /* layout: cells of a size that is easy to see, as many as needed. */
  layout(nbits) {
    const width = Math.max(120, this.element.clientWidth || 640);
    let perCell = 1;
    let size = 0;
    for (; ; perCell *= 2) {
      const cells = Math.max(1, Math.ceil(nbits / perCell));
      size = Math.min(18, Math.floor(Math.sqrt((width * this.height) / cells)));
      while (size >= 2 && Math.ceil(cells / Math.floor(width / size)) * size > this.height) size -= 1;
      if (size >= 2) break;
    }
    const cols = Math.floor(width / size);
    return { perCell, size, cols, rows: Math.max(1, Math.ceil(Math.ceil(nbits / perCell) / cols)) };
  }

  /* draw: the bits; `marked` is a byte whose cell gets a ring. */
  draw(bytes, nbits = bytes.length * 8, marked = null) {
    Object.assign(this, { bytes, nbits, marked });
    if (!this.element.isConnected) return;
    const grid = this.layout(nbits);
    this.grid = grid;
    const image = new ImageData(grid.cols, grid.rows);
    const zero = colour('--cell0');
    const one = colour('--cell1');
    const ncells = Math.ceil(nbits / grid.perCell);
    for (let i = 0; i < ncells; i += 1) {
      const share = this.share(i * grid.perCell, Math.min(nbits, (i + 1) * grid.perCell));
      for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = zero[c] + share * (one[c] - zero[c]);
      image.data[4 * i + 3] = 255;
    }
    this.paint(image, grid);
  }

  share(from, to) {
    if (to - from >= 8) return setBits(this.bytes, from >> 3, to >> 3) / Math.max(1, to - from);
    let n = 0;
    for (let b = from; b < to; b += 1) n += (this.bytes[Math.floor(b / 8)] >> (b % 8)) & 1;
    return n / Math.max(1, to - from);
  }

  paint(image, { cols, rows, size, perCell }) {
    const ratio = Math.min(3, devicePixelRatio || 1);
    const { canvas } = this;
    canvas.width = cols * size * ratio;
    canvas.height = rows * size * ratio;
    canvas.style.width = `${cols * size}px`;
    canvas.style.height = `${rows * size}px`;
    const small = document.createElement('canvas');
    small.width = cols;
    small.height = rows;
    small.getContext('2d').putImageData(image, 0, 0);
    const g = canvas.getContext('2d');
    g.imageSmoothingEnabled = false;
    g.drawImage(small, 0, 0, canvas.width, canvas.height);
    g.scale(ratio, ratio);
    if (size >= 5) {
      g.strokeStyle = `rgb(${colour('--panel')})`;
      g.lineWidth = 1;
      g.beginPath();
      for (let x = 0; x <= cols; x += 1) {
        g.moveTo(x * size, 0);
        g.lineTo(x * size, rows * size);
      }
      for (let y = 0; y <= rows; y += 1) {
        g.moveTo(0, y * size);
        g.lineTo(cols * size, y * size);
      }
      g.stroke();
    }
    if (this.marked !== null) {
      const cell = Math.floor((this.marked * 8) / perCell);
      g.strokeStyle = `rgb(${colour('--bad')})`;
      g.lineWidth = 2.5;
      g.strokeRect(
        (cell % cols) * size - 3,
        Math.floor(cell / cols) * size - 3,
        Math.max(size, (8 * size) / perCell) + 6,
        size + 6,
      );
    }
  }

  pick(event) {
    const box = this.canvas.getBoundingClientRect();
    const { cols, size, perCell } = this.grid;
    const x = Math.floor((event.clientX - box.left) / size);
    const y = Math.floor((event.clientY - box.top) / size);
    const byte = Math.floor(((y * cols + x) * perCell) / 8);
    if (x >= 0 && x < cols && byte < this.bytes.length) this.onpick(byte);
  }
}
