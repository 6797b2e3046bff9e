/*
 * lsm.js - filters where they earn their memory: a lookup travels through the levels of an LSM tree,
 * and each nay is a block that is not read.
 */
import { h, svg, announce, figure, Notices, UserError } from '../dom.js';
import { NumberField, Choice, applyParams, attempt, values } from '../field.js';
import { Player } from '../player.js';
import { plotWidth } from '../plot.js';
import { breathe } from '../frames.js';
import { button, keyInput, note, oneLine, panel, pictureFirst, row, rule, stack, table, title } from '../parts.js';
import { Tree, idOf, keyOf, userOf, prefixOf } from '../tree.js';
import { bytes, count, percent } from '../number.js';

const LEFT = 74;
const ROW = 34;

class Lsm {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.makeFields();
    this.input = keyInput('A key of the tree', 'user00042:06');
    this.picture = h('div');
    this.player = new Player(
      { clearMarks: () => {}, flush: () => {}, write: () => 0, mark: () => {}, note: () => null },
      'Get a key or scan: the steps are listed here.',
    );
    this.counts = h('div', { 'aria-live': 'polite' });
    this.table = h('div');
    this.runs = 0;
    this.build();
    applyParams(params, this.fields());
    this.asked = params.get('get') ?? (params.has('kind') ? null : 'user00040:07');
    this.notices
      .guard(() => this.remake(false))()
      .then(() => {
        if (this.asked && this.tree) this.notices.guard(() => this.get(this.asked))();
      });
  }

  makeFields() {
    const remake = this.notices.guard(() => this.remake());
    this.kind = new Choice({
      label: 'Family of the filters',
      value: 'bloom',
      options: ['bloom', 'blocked', 'fuse', 'ribbon'].map((value) => ({ value, label: value })),
      onchange: remake,
    });
    this.ratio = new NumberField({
      label: 'Size ratio of levels (T)',
      value: 4,
      min: 2,
      max: 10,
      whole: true,
      onchange: remake,
    });
    this.levels = new NumberField({
      label: 'Levels below level 0',
      value: 3,
      min: 1,
      max: 4,
      whole: true,
      onchange: remake,
    });
    this.bits = new NumberField({
      label: 'Filter memory, bits per key',
      value: 6,
      min: 0,
      max: 20,
      step: 0.5,
      onchange: remake,
    });
    this.skew = new NumberField({
      label: 'Allocation: 0 uniform, 1 Monkey',
      value: 0,
      min: 0,
      max: 1,
      step: 0.05,
      show: (v) => String(Number(v.toFixed(2))),
      onchange: remake,
      hint: 'Monkey gives small levels more bits for each key: they are cheap, and every lookup passes them.',
    });
  }

  build() {
    const act = (label, run) => button(label, this.notices.guard(run));
    const left = panel(
      this.bits.element,
      this.skew.element,
      rule(),
      this.kind.element,
      this.ratio.element,
      this.levels.element,
    );
    left.classList.add('extra');
    const get = this.notices.guard((key) => this.get(key));
    const right = stack(
      panel(
        oneLine(this.input, 'Get', get),
        row(
          act('An absent key', () => this.get(keyOf(this.pick() + 1))),
          act('A present key', () => this.get(keyOf(this.pick()))),
          act('Scan a prefix', () => this.scanPrefix()),
          act('Scan a range', () => this.scanRange()),
        ),
        this.picture,
        this.legend(),
        this.player.element,
      ),
      panel(
        title('Reads saved'),
        row(
          act('10,000 absent keys', () => this.measure(true)),
          act('10,000 present keys', () => this.measure(false)),
        ),
        this.counts,
      ),
      panel(this.table),
    );
    this.element = h('div', null, this.notices.element, pictureFirst(right, left));
  }

  legend() {
    const item = (cls, text) =>
      h(
        'span',
        null,
        svg(
          'svg',
          { width: 14, height: 14, 'aria-hidden': 'true', style: 'vertical-align: -2px; margin-right: 6px' },
          svg('rect', { x: 1, y: 1, width: 12, height: 12, rx: 3, class: `table ${cls}` }),
        ),
        text,
      );
    return h(
      'div',
      { class: 'legend' },
      item('nay', 'skipped: the filter says nay'),
      item('mem searched', 'searched in memory'),
      item('useless', 'read in vain'),
      item('found', 'read, and found'),
      h('span', null, 'stronger: more filter bits for each key'),
    );
  }

  pick() {
    this.runs += 1;
    const { present } = this.tree;
    return present[(this.runs * 7919 + 104729) % present.length];
  }

  fields() {
    return { kind: this.kind, ratio: this.ratio, levels: this.levels, bits: this.bits, skew: this.skew };
  }

  state() {
    return { ...values(this.fields()), get: this.asked };
  }

  remake(save = true) {
    const tree = attempt(this, this.fields(), () => new Tree(this.engine, values(this.fields())));
    this.tree?.free();
    this.tree = tree;
    this.player.load([]);
    this.counts.replaceChildren(
      h(
        'p',
        { class: 'note' },
        `A lookup of an absent key reads ${tree.expected.toFixed(3)} blocks on average with these filters, if every range has it.`,
      ),
    );
    this.draw();
    this.tabulate();
    if (save) {
      this.asked = null;
      this.changed();
    }
  }

  /* draw: levels as rows, tables where their keys are; a table is as dark as its filter is large. */
  draw() {
    const { tree } = this;
    const width = plotWidth(760);
    const x = (id) => LEFT + (id / tree.span) * (width - LEFT - 8);
    this.x = x;
    const root = svg('svg', {
      class: 'plot lsm',
      viewBox: `0 0 ${width} ${ROW * 2 + 44 + ROW * this.levels.value}`,
      role: 'img',
      'aria-label': `An LSM tree of ${count(tree.nkeys)} keys: a memtable, 4 tables in level 0, and ${tree.tables.length - 4} tables in ${this.levels.value} sorted levels`,
    });
    this.shapes = new Map();
    root.append(svg('text', { x: 0, y: 21 }, 'memtable'));
    const mem = svg('rect', { x: LEFT, y: 6, width: 90, height: 22, rx: 5, class: 'table mem' });
    this.shapes.set('memtable', mem);
    root.append(mem);
    const most = Math.max(...tree.runs.map((r) => r.nbits / r.nkeys), 1);
    let l0 = 0;
    for (const run of tree.runs) {
      for (const table of run.tables) {
        const y = run.level === 0 ? ROW + 6 + l0 * 13 : ROW * 2 + 34 + (run.level - 1) * ROW;
        const shape = svg(
          'rect',
          {
            x: x(table.low),
            y,
            width: Math.max(2, x(table.high) - x(table.low) - 1.5),
            height: run.level === 0 ? 10 : 22,
            rx: run.level === 0 ? 3 : Math.min(5, (x(table.high) - x(table.low)) / 4),
            class: 'table',
            style: `fill-opacity: ${0.12 + (0.88 * run.nbits) / run.nkeys / most}`,
          },
          svg(
            'title',
            null,
            `level ${run.level}: ${keyOf(table.low)} to ${keyOf(table.high)}, ${count(table.ids.length)} keys, ${(run.nbits / run.nkeys).toFixed(1)} filter bits per key`,
          ),
        );
        this.shapes.set(table, shape);
        root.append(shape);
      }
      if (run.level === 0) l0 += 1;
    }
    root.append(svg('text', { x: 0, y: ROW + 34 }, 'level 0'));
    for (let i = 1; i <= this.levels.value; i += 1)
      root.append(svg('text', { x: 0, y: ROW * 2 + 34 + (i - 1) * ROW + 15 }, `level ${i}`));
    this.needle = svg('line', { class: 'needle', y1: 0, y2: ROW * 2 + 44 + ROW * this.levels.value, x1: -9, x2: -9 });
    root.append(this.needle);
    this.picture.replaceChildren(root);
  }

  /* play: the steps of a lookup, each a change of a table's look. */
  play(result, low, high) {
    for (const shape of this.shapes.values())
      shape.setAttribute('class', shape === this.shapes.get('memtable') ? 'table mem' : 'table');
    this.needle.setAttribute('x1', this.x((low + high) / 2));
    this.needle.setAttribute('x2', this.x((low + high) / 2));
    const script = result.steps.map((step) => {
      const shape = this.shapes.get(step.at);
      let before = '';
      return {
        text: step.text,
        act: (forward) => {
          if (!shape) return;
          if (forward) {
            before = shape.getAttribute('class');
            shape.setAttribute('class', `table ${step.state}${step.at === 'memtable' ? ' mem' : ''}`);
          } else shape.setAttribute('class', before);
        },
      };
    });
    this.player.load(script);
    announce(result.steps[result.steps.length - 1].text);
  }

  get(text) {
    const id = idOf(text);
    if (Number.isNaN(id))
      throw new UserError(
        `\u201c${text.slice(0, 40)}\u201d is no key of this tree: keys look like user00042:06, with items 00 to 15.`,
      );
    this.notices.clear();
    this.input.value = keyOf(id);
    this.asked = keyOf(id);
    this.play(this.tree.get(id, true), Math.min(id, this.tree.span), Math.min(id, this.tree.span));
    this.changed();
  }

  scanPrefix() {
    const user = userOf(this.pick()) + (this.runs % 2);
    this.notices.say(
      `Scan of all keys that start with ${prefixOf(user)}: a filter of prefixes answers for the whole scan.`,
    );
    this.play(this.tree.scan(user * 16, user * 16 + 15, user), user * 16, user * 16 + 15);
  }

  scanRange() {
    const low = this.pick();
    this.notices.say(
      `Scan from ${keyOf(low)} to ${keyOf(low + 40)}: these filters answer for keys and prefixes, not for ranges, so every table that overlaps is read.`,
    );
    this.play(this.tree.scan(low, low + 40), low, low + 40);
  }

  async measure(absent) {
    this.counts.replaceChildren(h('p', { class: 'note' }, 'Looking up\u2026'));
    await breathe();
    const sum = this.tree.sample(10000, absent, absent ? 11 : 12);
    const saved = sum.readsWithout === 0 ? 0 : 1 - sum.reads / sum.readsWithout;
    this.counts.replaceChildren(
      h(
        'dl',
        { class: 'figures', 'data-reads': sum.reads, 'data-without': sum.readsWithout },
        figure('Blocks read, with filters', count(sum.reads), `${(sum.reads / sum.n).toFixed(3)} for each lookup`),
        figure('Without filters', count(sum.readsWithout), `${(sum.readsWithout / sum.n).toFixed(2)} for each lookup`),
        figure('Saved', percent(saved, 3), `${count(sum.readsWithout - sum.reads)} reads`),
        figure('Probes of filters', count(sum.probes), `${count(sum.falsePositives)} false positives`),
      ),
    );
  }

  tabulate() {
    const { tree } = this;
    const levels = new Map();
    for (const run of tree.runs) {
      const sum = levels.get(run.level) ?? { nkeys: 0, nbits: 0, fpr: 0, runs: 0 };
      sum.nkeys += run.nkeys;
      sum.nbits += run.nbits;
      sum.fpr += run.fpr;
      sum.runs += 1;
      levels.set(run.level, sum);
    }
    const rows = [...levels].map(([level, r]) => [
      `level ${level}`,
      count(r.nkeys),
      r.runs,
      r.nbits === 0 ? 'no filter' : (r.nbits / r.nkeys).toFixed(2),
      percent(r.fpr / r.runs),
      bytes(r.nbits / 8),
    ]);
    const sum = `The sum of the FPRs, ${tree.expected.toFixed(3)}, is what a lookup of an absent key reads in vain.`;
    const all = `Filters of whole keys, ${bytes(tree.nbits / 8)} in all; those of prefixes come on top.`;
    const caption = `${all} ${sum}`;
    const head = ['level', '#keys', '#runs', '#bits per key', '#FPR of a run', '#memory'];
    this.table.replaceChildren(table({ label: 'Levels and their filters', caption, head, rows }));
  }

  pause() {
    this.player.pause();
  }

  close() {
    this.player.pause();
    this.tree?.free();
  }
}

export const lsm = {
  id: 'lsm',
  title: 'In an LSM tree',
  heading: 'Where filters earn their memory',
  lead: 'A lookup asks the levels from new to old. Each nay of a filter is a block that is not read from disk.',
  mount: (context, params) => new Lsm(context, params),
};
