/*
 * overfill.js - more keys than planned, up to millions at once: fill, estimated keys, planned and
 * measured FPR; the curves of all families; and what is often said wrongly, measured.
 *
 * Every number is the library's: lines of theory are plans of nay_params_plan for the number of keys
 * that is in, measured ones are probes of keys that were never added, with their 95% interval.
 */
import { h, announce, figure, Notices, UserError } from '../dom.js';
import { NumberField, Choice, applyParams, attempt } from '../field.js';
import { Density } from '../density.js';
import { breathe } from '../frames.js';
import { absentLines, countLines, keyLines, readFile, takeLines } from '../keys.js';
import { bytes, count, percent, readNumber, wilson } from '../number.js';
import { button, FileDrop, note, panel, pictureFirst, row, stack, title } from '../parts.js';
import { plot } from '../plot.js';
import { colourOf, lineOf } from '../families.js';
import { shapeOf } from '../groups.js';
import { Experiments } from './experiments.js';

const PROBES = 200000;
const PIECES = 8; /* of a load: after each the state is drawn */
const MOST_PIECE = 1 << 16;

/* measure: the FPR of a filter by keys that were never added. */
function measure(filter, from, n = PROBES) {
  const hits = filter.countMaybes(absentLines(n, from));
  const [low, high] = wilson(hits, n);
  return { fpr: hits / n, hits, n, low, high };
}

class Overfill {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.file = null;
    this.probed = 0;
    this.makeFields();
    this.addButton = button('Add them', () => this.load(this.amount.value), 'main');
    this.figures = h('dl', { class: 'figures' });
    this.bar = h('div', { class: 'bar', 'aria-hidden': 'true' }, h('i'));
    this.density = new Density({ label: 'The bits of the filter' });
    this.curve = h('div');
    this.families = h('div', { 'data-families': '' });
    this.experiments = new Experiments(this.engine, this.notices, () => this.changed());
    applyParams(params, { kind: this.kind, n: this.n, fpr: this.fpr, keys: this.keys, amount: this.amount });
    if (this.keys.value === 'file') {
      this.keys.set('words');
      this.keys.complain('A link does not carry a file: drop it here again.');
    }
    this.build(params.get('experiment'));
    this.start(params);
  }

  makeFields() {
    const restart = this.notices.guard(() => this.restart());
    this.kind = new Choice({
      label: 'Family',
      value: 'bloom',
      options: this.engine.kinds
        .filter(({ traits }) => traits.add)
        .map(({ name, traits }) => ({ value: name, label: name, title: lineOf(name, traits) })),
      onchange: restart,
    });
    this.n = new NumberField({
      label: 'Planned keys',
      value: 100000,
      min: 10,
      max: 1e9,
      log: true,
      whole: true,
      show: count,
      onchange: restart,
    });
    this.fpr = new NumberField({
      label: 'Planned FPR',
      value: 0.01,
      min: 1e-6,
      max: 0.3,
      log: true,
      show: percent,
      onchange: restart,
    });
    this.keys = new Choice({
      label: 'Keys',
      value: 'words',
      options: [
        { value: 'words', label: 'words' },
        { value: 'integers', label: 'integers' },
        { value: 'file', label: 'lines of a file' },
      ],
      onchange: (v) => {
        if (v === 'file' && !this.file) this.drop.choose();
        restart();
      },
    });
    this.drop = new FileDrop({
      label: 'A file whose lines are keys',
      text: 'Drop a text file: each line is a key.',
      take: (file) => this.take(file),
    });
    this.amount = new NumberField({
      label: 'How many at once',
      value: 1e6,
      min: 1,
      max: 2e7,
      log: true,
      whole: true,
      show: count,
      onchange: () => this.changed(),
    });
  }

  /* build: asked: the experiment that a link names. */
  build(asked) {
    const few = (share, label) => button(label, () => this.load(Math.max(1, Math.round(share * this.n.value))));
    const empty = button(
      'Empty it',
      this.notices.guard(() => this.restart()),
      'quiet',
    );
    const left = stack(
      panel(this.kind.element, this.n.element, this.fpr.element),
      panel(
        this.keys.element,
        this.drop.element,
        this.amount.element,
        this.addButton,
      ),
    );
    const compare = button(
      'Fill every family',
      this.notices.guard(() => this.compare()),
    );
    const right = stack(
      panel(
        row(few(0.1, '+10%'), few(1, '+100%'), empty),
        this.figures,
        this.bar,
        this.density.element,
        note('Each cell is as dark as the share of its bits that is set.'),
      ),
      panel(title('Planned and measured'), this.curve),
      panel(
        title('All families, filled beyond the plan'),
        row(compare, note('Each planned for the same keys and FPR, then filled to three times that.')),
        this.families,
      ),
    );
    const said = h('div', { class: 'stack said' }, h('h3', { class: 'extra' }, 'Often said, and measured here'), this.experiments.element);
    const filling = pictureFirst(right, left);
    if (asked) filling.classList.add('extra'); /* in a frame: the experiment alone */
    this.element = h('div', null, this.notices.element, ...(asked ? [said, filling] : [filling, said])); /* a link shows what it names first */
  }

  /* start: the state of the permalink; a million keys of a link are loaded at once. */
  start(params) {
    this.notices
      .guard(() => this.restart())()
      .then(() => {
        const added = readNumber(params.get('added') ?? '0');
        if (added > 0 && added <= 2e7) return this.load(Math.round(added));
        if (params.has('added') && !(added === 0))
          this.notices.say(
            `The link asks for ${params.get('added').slice(0, 20)} keys: this page adds up to 20 million.`,
            true,
          );
        return null;
      })
      .then(() => this.experiments.open(params.get('experiment')));
  }

  state() {
    return {
      kind: this.kind.value,
      n: this.n.value,
      fpr: this.fpr.value,
      keys: this.keys.value === 'file' ? null : this.keys.value,
      amount: this.amount.value,
      added: this.added || null,
      experiment: this.experiments.current,
    };
  }

  /* restart: an empty filter of the chosen plan. The old one stays when that fails. */
  restart() {
    const params = { kind: this.kind.value, nkeys: this.n.value, fpr: this.fpr.value };
    const fresh = attempt(this, { kind: this.kind, n: this.n, fpr: this.fpr }, () => this.engine.create(params));
    this.filter?.free();
    this.filter = fresh;
    this.plan = this.engine.plan(params);
    Object.assign(this, { added: 0, fileAt: 0, points: [], took: null, run: (this.run ?? 0) + 1 });
    this.families.replaceChildren();
    this.families.dataset.families = '';
    this.notices.clear();
    this.report();
  }

  async take(file) {
    if (!file) {
      if (!this.file) this.keys.set('words');
      return;
    }
    await this.notices.guard(async () => {
      const data = await readFile(file);
      const lines = countLines(data);
      if (lines === 0) throw new UserError(`${file.name} is empty: it has no keys.`);
      this.file = { name: file.name, data, lines };
      this.keys.set('file');
      this.restart();
      this.notices.say(`${file.name}: ${count(lines)} lines.`);
      await this.load(lines);
    })();
  }

  /* piece: the next n keys as lines. */
  piece(n) {
    if (this.keys.value !== 'file' || !this.file)
      return { lines: keyLines(this.keys.value === 'integers' ? 'integers' : 'words', this.added, n), n };
    const end = takeLines(this.file.data, this.fileAt, n);
    const lines = this.file.data.subarray(this.fileAt, end);
    this.fileAt = end;
    return { lines, n: countLines(lines) };
  }

  /* load: adds n keys in pieces, then measures. A filter that is full says so and keeps what it has. */
  async load(n) {
    if (this.loading) return;
    this.loading = true;
    this.addButton.disabled = true;
    const start = performance.now();
    const size = Math.max(1024, Math.min(MOST_PIECE, Math.ceil(n / PIECES)));
    const { run } = this; /* another filter takes its place: these keys are not for that one */
    try {
      for (let left = n; left > 0 && run === this.run;) {
        const piece = this.piece(Math.min(left, size));
        if (piece.n === 0) {
          this.notices.say(`The file has no more lines: all ${count(this.file.lines)} are in.`);
          break;
        }
        this.filter.addLines(piece.lines);
        this.added += piece.n;
        left -= piece.n;
        if (left > 0) {
          this.sample(PROBES / 10);
          this.report();
          await breathe();
        }
      }
    } catch (error) {
      if (error.statusName === 'EFULL') {
        this.added = Math.round(this.filter.stats().nkeysEstimated);
        this.notices.say(
          `The filter is full and refuses more keys, with ${count(this.added)} in. It still answers for those.`,
          true,
        );
      } else this.notices.fail(error);
    } finally {
      this.loading = false;
      this.addButton.disabled = false;
    }
    if (run !== this.run) return;
    this.sample();
    this.report();
    this.took = performance.now() - start;
    this.say();
  }

  /* sample: one measured point of the curve. */
  sample(probes = PROBES) {
    const m = measure(this.filter, this.probed, probes);
    this.probed += m.n;
    this.measured = { ...m, added: this.added };
    this.points.push(this.measured);
    if (this.points.length > 200) this.points.splice(0, 100);
  }

  say() {
    const { measured, added } = this;
    announce(`${count(added)} keys are in. Measured FPR ${percent(measured.fpr)}, planned ${percent(this.plan.fpr)}.`);
    this.figures.dataset.ms = Math.round(this.took);
    this.changed();
  }

  report() {
    const s = this.filter.stats();
    const m = this.measured && this.measured.added === this.added ? this.measured : null;
    const share = this.added / this.n.value;
    const atLeast = s.saturated ? 'at least ' : '';
    const estimated = Number.isFinite(s.nkeysEstimated) ? atLeast + count(s.nkeysEstimated) : 'unknown';
    this.figures.replaceChildren(
      figure('Keys added', count(this.added), `of ${count(this.n.value)} planned`),
      this.fill(s),
      figure('Keys, estimated from the bits', estimated, s.saturated ? 'saturated: no bit is clear' : null),
      figure('FPR planned', percent(this.plan.fpr), 'once all are in'),
      figure('FPR by these bits', percent(s.fprNow), s.overloaded ? 'overloaded' : null),
      figure(
        'FPR measured',
        m ? percent(m.fpr) : '\u2013',
        m ? `${percent(m.low)} to ${percent(m.high)} in ${count(m.n)} probes` : 'add keys first',
      ),
    );
    this.bar.classList.toggle('over', share > 1);
    this.bar.firstChild.style.width = `${Math.min(100, 100 * share)}%`;
    this.density.draw(this.filter.payload());
    this.drawCurve();
    this.changed();
  }

  /* fill: how much of what keys can take is taken: bits, or slots. */
  fill(s) {
    const why = this.filter.explain('');
    const slots = shapeOf([why]) === 'fingerprint';
    const all = s.fill > 0 ? s.nbitsSet / s.fill : this.filter.params().nbits || s.nbits;
    const of = slots ? `of ${count(all / why.steps[0].nbits)} slots` : `of ${count(all)} bits`;
    return figure(slots ? 'Slots taken' : 'Bits set', percent(s.fill), `${of}, in ${bytes(this.plan.nbytes)}`);
  }

  /*
   * theory: the FPR that the library plans for x keys in the bits that this filter has. A scalable one
   * keeps its limit; a window is planned for being full, and never holds more.
   */
  theory(x) {
    const { kind, nbits, k, tagBits } = this.filter.params();
    if (!nbits) return this.plan.fprLimit;
    if (this.engine.traits(kind).expire) return x < this.plan.nkeys ? NaN : this.plan.fpr;
    return this.engine.plan({ kind, nbits, k, tagBits, nkeys: Math.max(1, Math.round(x)) }).fpr;
  }

  drawCurve() {
    const top = Math.max(2, 1.1 * (this.added / this.n.value));
    const xs = Array.from({ length: 41 }, (_, i) => Math.max(0.02, (top * i) / 40));
    const theory = xs.map((x) => ({ x, y: this.theory(x * this.n.value) })).filter((p) => p.y > 0);
    const low = Math.max(
      1e-9,
      Math.min(this.plan.fpr / 100, ...this.points.filter((p) => p.fpr > 0).map((p) => p.fpr / 2)),
    );
    this.curve.replaceChildren(
      plot({
        title: `FPR of the ${this.kind.value} filter as it fills`,
        x: { min: 0, max: top, label: 'keys, as a multiple of the plan', show: (v) => `${Number(v.toFixed(2))}\u00d7` },
        y: { min: low, max: 1, log: true, label: 'FPR', show: (v) => percent(v, 2) },
        marks: [{ x: 1, label: 'the plan' }],
        series: [
          { label: 'planned', name: 'planned for so many', colour: 5, dash: true, points: theory },
          {
            label: 'measured',
            name: 'measured',
            colour: colourOf(this.kind.value),
            dots: true,
            points: this.points.map((p) => ({ x: p.added / this.n.value, y: p.fpr, low: p.low, high: p.high })),
          },
        ],
      }),
    );
  }

  /* compare: every family that takes adds, filled to three times the plan; static ones are lines. */
  async compare() {
    const n = Math.min(this.n.value, 200000);
    const series = [];
    for (const family of this.engine.kinds) {
      const params = { kind: family.name, nkeys: n, fpr: this.fpr.value };
      try {
        const points = family.traits.add ? await this.fillFamily(params, n) : this.staticFamily(params);
        series.push({ label: family.name, colour: colourOf(family.name), dash: !family.traits.add, points });
      } catch (error) {
        if (!error.statusName) throw error;
      }
      this.families.replaceChildren(this.compareChart(series, n));
      await breathe();
    }
    this.families.append(
      h(
        'p',
        { class: 'note' },
        'Static families (dashed) are built for the keys that are there: they cannot be overfilled. A cuckoo line ends where the filter is full; a window forgets instead; a scalable filter grows and keeps its promise.',
      ),
    );
    this.families.dataset.families = 'drawn';
    announce('All families are drawn.');
  }

  compareChart(series, n) {
    const all = series.flatMap((s) => s.points.map((p) => p.y)).filter((y) => y > 0);
    return plot({
      title: `Measured FPR of each family, planned for ${count(n)} keys at ${percent(this.fpr.value)}`,
      height: 380,
      x: { min: 0, max: 3, label: 'keys, as a multiple of the plan', show: (v) => `${Number(v.toFixed(2))}\u00d7` },
      y: {
        min: Math.max(1e-7, Math.min(this.fpr.value / 20, ...all)),
        max: 1,
        log: true,
        label: 'FPR, measured',
        show: (v) => percent(v, 2),
      },
      marks: [{ x: 1, label: 'the plan' }],
      series,
    });
  }

  async fillFamily(params, n) {
    const filter = this.engine.create(params);
    const points = [];
    try {
      for (let i = 1; i <= 24; i += 1) {
        const from = Math.round(((i - 1) * n) / 8);
        filter.addLines(keyLines('words', from, Math.round((i * n) / 8) - from));
        const m = measure(filter, this.probed, 50000);
        this.probed += m.n;
        points.push({ x: i / 8, y: m.fpr, low: m.low, high: m.high });
        await breathe();
      }
    } catch (error) {
      if (error.statusName !== 'EFULL') throw error;
    } finally {
      filter.free();
    }
    return points;
  }

  staticFamily(params) {
    const fpr = this.engine.plan(params).fpr;
    return [
      { x: 0.125, y: fpr },
      { x: 3, y: fpr },
    ];
  }

  shown() {
    this.density.redraw();
  }

  resume() {
    this.density.redraw();
  }

  close() {
    this.run += 1;
    this.density.close();
    this.filter?.free();
  }
}

export const overfill = {
  id: 'overfill',
  title: 'Overfill it',
  heading: 'Fill it, and go on',
  lead: 'A filter never refuses to answer. It only gets worse at it: here is how much, in theory and measured.',
  mount: (context, params) => new Overfill(context, params),
};
