// A diagram as SVG: what diagrams.mjs draws with. A title and a description for those who do not see it, colours for light
// and dark, coordinates rounded, so that the same numbers give the same bytes.
const STYLE = `
svg{--panel:#fff;--ink:#1b1f24;--soft:#5a6068;--line:#cfc9bc;--zero:#ebe7de;--one:#2b5f86;--on:#fff;--a:#0065a3;--b:#b35c00;--c:#00795a;--d:#a8457f;--bad:#a82a00}
@media (prefers-color-scheme:dark){svg{--panel:#191d24;--ink:#e9e7e1;--soft:#aab0b9;--line:#3d4552;--zero:#2e3540;--one:#5aa9dd;--on:#12151a;--a:#6cbcf0;--b:#f0ac2e;--c:#4cc3a0;--d:#e08fbb;--bad:#ff8a66}}
text{font:15px system-ui,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","DejaVu Sans",sans-serif;fill:var(--ink)}
.small{font-size:13px}.soft{fill:var(--soft)}.strong{font-weight:600}.mono{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:13px}
.on{fill:var(--on)}.mid{text-anchor:middle}.end{text-anchor:end}.wa{fill:var(--a)}.wb{fill:var(--b)}.wc{fill:var(--c)}.wd{fill:var(--d)}.wbad{fill:var(--bad)}`;

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const r = (x) => String(Number(x.toFixed(1)));

export class Diagram {
  constructor(width, height, title, about) {
    Object.assign(this, { width, height, title, about, parts: [] });
  }

  /* put: an element; numbers are rounded to a tenth. */
  put(tag, attributes, text) {
    const all = Object.entries(attributes).map(([name, value]) => ` ${name}="${typeof value === 'number' ? r(value) : escape(value)}"`);
    this.parts.push(text === undefined ? `<${tag}${all.join('')}/>` : `<${tag}${all.join('')}>${escape(text)}</${tag}>`);
    return this;
  }

  text(x, y, text, name = '') {
    return this.put('text', name ? { x, y, class: name } : { x, y }, text);
  }

  line(x1, y1, x2, y2, colour = 'line', width = 1, dash = '') {
    const more = dash ? { 'stroke-dasharray': dash } : {};
    return this.put('line', { x1, y1, x2, y2, stroke: `var(--${colour})`, 'stroke-width': width, ...more });
  }

  rect(x, y, width, height, colour, round = 0) {
    return this.put('rect', { x, y, width, height, ...(round ? { rx: round } : {}), fill: `var(--${colour})` });
  }

  frame(x, y, width, height, colour, stroke = 2, round = 3) {
    return this.put('rect', { x, y, width, height, rx: round, fill: 'none', stroke: `var(--${colour})`, 'stroke-width': stroke });
  }

  dot(x, y, radius, colour) {
    return this.put('circle', { cx: x, cy: y, r: radius, fill: `var(--${colour})` });
  }

  path(d, colour, width = 2, dash = '') {
    const more = dash ? { 'stroke-dasharray': dash } : {};
    return this.put('path', { d, fill: 'none', stroke: `var(--${colour})`, 'stroke-width': width, 'stroke-linejoin': 'round', ...more });
  }

  /* way: a curve from a key to a cell. */
  way(x1, y1, x2, y2, colour, width = 1.5, dash = '') {
    const mid = (y1 + y2) / 2;
    return this.path(`M${r(x1)} ${r(y1)}C${r(x1)} ${r(mid)} ${r(x2)} ${r(mid)} ${r(x2)} ${r(y2)}`, colour, width, dash);
  }

  /* cells: a row of bits; colourOf(i, bit) may name another colour. */
  cells(x, y, size, bits, { numbers = true, colourOf = () => null } = {}) {
    bits.forEach((bit, i) => {
      this.rect(x + i * size + 1, y, size - 2, size - 2, colourOf(i, bit) ?? (bit ? 'one' : 'zero'), 3);
      this.text(x + i * size + size / 2, y + size / 2 + 4, bit, `small mid ${bit ? 'on' : 'soft'}`);
      if (numbers) this.text(x + i * size + size / 2, y + size + 14, i, 'small mid soft');
    });
    return this;
  }

  svg() {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" role="img" aria-labelledby="title about">\n` +
      `<title id="title">${escape(this.title)}</title>\n<desc id="about">${escape(this.about)}</desc>\n<style>${STYLE.trim()}</style>\n` +
      `<rect width="${this.width}" height="${this.height}" rx="10" fill="var(--panel)"/>\n${this.parts.join('\n')}\n</svg>\n`
    );
  }
}

/* Plot: axes in a part of a diagram; x and y are {min, max, log, ticks, show, label}. */
export class Plot {
  constructor(diagram, { left, top, width, height, x, y }) {
    Object.assign(this, { diagram, left, top, width, height, x, y });
    for (const t of y.ticks) {
      diagram.line(left, this.atY(t), left + width, this.atY(t), 'line', 0.7);
      diagram.text(left - 6, this.atY(t) + 4, y.show(t), 'small end soft');
    }
    for (const t of x.ticks) diagram.text(this.atX(t), top + height + 18, x.show(t), 'small mid soft');
    diagram.line(left, top + height, left + width, top + height, 'soft');
    diagram.text(left + width / 2, top + height + 38, x.label, 'small mid');
    diagram.text(left - 6, top - 12, y.label, 'small');
  }

  static share({ min, max, log }, v) {
    return log ? (Math.log(v) - Math.log(min)) / (Math.log(max) - Math.log(min)) : (v - min) / (max - min);
  }

  atX(v) {
    return this.left + Plot.share(this.x, v) * this.width;
  }

  atY(v) {
    return this.top + (1 - Plot.share(this.y, v)) * this.height;
  }

  curve(points, colour, dash = '') {
    this.diagram.path(points.map(([x, y], i) => `${i ? 'L' : 'M'}${r(this.atX(x))} ${r(this.atY(y))}`).join(''), colour, 2, dash);
    return this;
  }

  bar(x, y, width, colour) {
    this.diagram.rect(this.atX(x) - width / 2, this.atY(y), width, this.top + this.height - this.atY(y), colour);
    return this;
  }

  point(x, y, colour, label = '', dx = 8, dy = -8, name = '') {
    this.diagram.dot(this.atX(x), this.atY(y), 4.5, colour);
    if (label) this.diagram.text(this.atX(x) + dx, this.atY(y) + dy, label, `small ${name}`.trim());
    return this;
  }
}
