/*
 * plot.js - line plots in SVG, with a table of the same numbers for those who do not see them.
 *
 * A plot has axes, linear or logarithmic, and series of points. Measured points have a bar for their
 * interval. A series is a colour, a dash pattern and a label at its end, so that it can be told apart
 * without colour.
 */
import { h, svg } from './dom.js';
import { table } from './parts.js';

/* plotWidth: as wide as the window leaves, so that text keeps its size on a phone. */
export function plotWidth(most = 720) {
  return Math.max(300, Math.min(most, innerWidth - 72));
}

/* ticks: round numbers between two limits. */
function ticks(min, max, log) {
  if (log) {
    const out = [];
    for (let e = Math.ceil(Math.log10(min) - 1e-9); e <= Math.floor(Math.log10(max) + 1e-9); e += 1) out.push(10 ** e);
    if (out.length >= 2) return out;
    return [min, Math.sqrt(min * max), max];
  }
  const rough = (max - min) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((s) => s >= rough);
  const out = [];
  for (let x = Math.ceil(min / step - 1e-9) * step; x <= max + step * 1e-9; x += step)
    out.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

class Axis {
  constructor({ min, max, log = false, show = String, label = '' }, from, to) {
    Object.assign(this, { min, max, log, show, label, from, to });
  }

  at(value) {
    const { min, max, log } = this;
    const v = Math.min(max, Math.max(min, value));
    const t = log ? (Math.log(v) - Math.log(min)) / (Math.log(max) - Math.log(min)) : (v - min) / (max - min);
    return this.from + t * (this.to - this.from);
  }
}

/* spread: label positions at least `gap` apart, in the order of where they belong. */
function spread(items, gap, low, high) {
  items.sort((a, b) => a.y - b.y);
  for (let i = 1; i < items.length; i += 1) items[i].y = Math.max(items[i].y, items[i - 1].y + gap);
  let over = items.length > 0 ? items[items.length - 1].y - high : 0;
  for (let i = items.length - 1; i >= 0 && over > 0; i -= 1) {
    items[i].y -= over;
    over = i > 0 ? items[i - 1].y + gap - items[i].y : 0;
  }
  return items;
}

/*
 * plot: {title, x, y, series, marks}. series: [{label, colour, dash, dots, points: [{x, y, low, high}]}];
 * colour is a number from 1 to 9. marks: [{x, label}] are vertical lines.
 */
export function plot({ title, x, y, series, marks = [], height = 340 }) {
  const width = plotWidth();
  const right = width < 500 ? 76 : 118;
  const ax = new Axis(x, 62, width - right);
  const ay = new Axis(y, height - 46, 14);
  const root = svg('svg', { class: 'plot', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title });
  for (const t of ticks(y.min, y.max, y.log)) {
    root.append(
      svg('line', { class: 'grid', x1: ax.from, x2: ax.to, y1: ay.at(t), y2: ay.at(t) }),
      svg('text', { x: ax.from - 8, y: ay.at(t) + 4, 'text-anchor': 'end' }, ay.show(t)),
    );
  }
  for (const t of ticks(x.min, x.max, x.log)) {
    root.append(
      svg('line', { class: 'axis', x1: ax.at(t), x2: ax.at(t), y1: ay.from, y2: ay.from + 5 }),
      svg('text', { x: ax.at(t), y: ay.from + 20, 'text-anchor': 'middle' }, ax.show(t)),
    );
  }
  root.append(
    svg('line', { class: 'axis', x1: ax.from, x2: ax.to, y1: ay.from, y2: ay.from }),
    svg('text', { x: (ax.from + ax.to) / 2, y: height - 6, 'text-anchor': 'middle' }, ax.label),
    svg('text', { x: -(ay.from + ay.to) / 2, y: 13, 'text-anchor': 'middle', transform: 'rotate(-90)' }, ay.label),
  );
  for (const mark of marks) {
    root.append(
      svg('line', {
        class: 'axis',
        'stroke-dasharray': '2 3',
        x1: ax.at(mark.x),
        x2: ax.at(mark.x),
        y1: ay.from,
        y2: ay.to,
      }),
      svg('text', { x: ax.at(mark.x) + 5, y: ay.to + 10 }, mark.label),
    );
  }
  for (const s of series) drawSeries(root, s, ax, ay);
  const labels = series
    .filter((s) => s.label && !s.silent && s.points.length > 0)
    .map((s) => ({ y: ay.at(s.points[s.points.length - 1].y), text: s.label, colour: s.colour }));
  for (const l of spread(labels, 15, ay.to, ay.from)) {
    root.append(svg('text', { x: ax.to + 8, y: l.y + 4, style: `fill: var(--s${l.colour})` }, l.text));
  }
  return h('figure', { style: 'margin: 0' }, root, plotTable(title, x, y, series));
}

function drawSeries(root, s, ax, ay) {
  const colour = `var(--s${s.colour})`;
  const points = s.points.filter((p) => Number.isFinite(p.y) && p.y >= ay.min); /* below the axis is not drawn */
  if (!s.dots && points.length > 1) {
    const d = points.map((p, i) => `${i === 0 ? 'M' : 'L'}${ax.at(p.x).toFixed(1)} ${ay.at(p.y).toFixed(1)}`).join('');
    root.append(svg('path', { d, class: s.dash ? 'dash' : '', style: `stroke: ${colour}` }));
  }
  if (!s.dots && !(points.length === 1)) return;
  for (const p of points) {
    if (p.low !== undefined) {
      root.append(
        svg('line', {
          x1: ax.at(p.x),
          x2: ax.at(p.x),
          y1: ay.at(p.low),
          y2: ay.at(p.high),
          style: `stroke: ${colour}; stroke-width: 1.2`,
        }),
      );
    }
    root.append(
      svg(
        'circle',
        { cx: ax.at(p.x), cy: ay.at(p.y), r: 3, style: `fill: ${colour}` },
        svg('title', null, `${s.label}: ${ay.show(p.y)} at ${ax.show(p.x)}`),
      ),
    );
  }
}

function plotTable(title, x, y, series) {
  const xs = [...new Set(series.flatMap((s) => s.points.map((p) => p.x)))].sort((a, b) => a - b);
  const value = (s, at) => {
    const p = s.points.find((q) => q.x === at);
    return p && Number.isFinite(p.y) ? y.show(p.y) : '';
  };
  const rows = xs.map((at) => [x.show(at), ...series.map((s) => value(s, at))]);
  const head = [x.label, ...series.map((s) => `#${s.name ?? s.label}`)];
  const inner = table({ label: `${title}: table`, caption: title, head, rows });
  return h('details', null, h('summary', null, 'The same numbers as a table'), inner);
}
