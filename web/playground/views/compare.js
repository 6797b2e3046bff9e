/*
 * compare.js - two or three families with the same keys, side by side: bits, bytes, cache lines, answers, rates. The
 * numbers are the library's plans, statistics and explanations of the filters that are drawn.
 */
import { h, announce, shorten, Notices, UserError } from '../dom.js';
import { NumberField, applyParams } from '../field.js';
import { lineOf, OTHERS } from '../families.js';
import { groupsOf } from '../groups.js';
import { EXAMPLES, absentLines, keyAt } from '../keys.js';
import { button, keyInput, note, oneLine, panel, pictureFirst, row, stack, table } from '../parts.js';
import { bytes, count, percent, wilson } from '../number.js';
import { aboutOf, rings, needed, verdict } from '../scripts.js';
import { Stage } from '../stage.js';

const FIRST = ['bloom', 'blocked', 'cuckoo'];
const MOST = 3;
const PROBES = 50000; /* absent keys by which a rate is measured */
const LINE = 512; /* bits of a cache line */
const GENERATIONS = 3;

class Compare {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.made = []; /* {kind, filter, stage, error} */
    const again = this.notices.guard(() => this.remake());
    this.n = new NumberField({ label: 'Keys, the same for all', value: 400, min: 1, max: 2000, log: true, whole: true, show: count, onchange: again });
    this.fpr = new NumberField({ label: 'False-positive rate asked for', value: 0.05, min: 1e-4, max: 0.5, log: true, show: percent, onchange: again });
    applyParams(params, { n: this.n, fpr: this.fpr });
    this.asked = params.get('ask') ?? 'moon';
    this.choose(params.get('kinds'));
    this.build();
  }

  choose(named) {
    const known = this.engine.kinds.map((f) => f.name);
    const wanted = (named ?? FIRST.filter((k) => known.includes(k)).join(',')).split(',');
    const unknown = wanted.find((kind) => !known.includes(kind));
    this.chosen = wanted.filter((kind, i) => known.includes(kind) && wanted.indexOf(kind) === i).slice(0, MOST);
    if (unknown !== undefined) this.notices.say(`The link names a family that is not known: '${unknown.slice(0, 20)}'.`, true);
    while (this.chosen.length < 2) this.chosen.push(known.find((kind) => !this.chosen.includes(kind)));
  }

  build() {
    this.boxes = this.engine.kinds.map(({ name, traits }) => {
      const input = h('input', { type: 'checkbox', value: name, onchange: this.notices.guard(() => this.pick(name, input)) });
      return { name, input, label: h('label', { class: 'check', title: lineOf(name, traits) }, input, name) };
    });
    this.ask = keyInput('A key to ask all of them', 'a key');
    this.out = h('div', { 'aria-live': 'polite' });
    this.pictures = h('div', { class: 'sides' });
    const settings = panel(
      h('fieldset', null, h('legend', null, 'Two or three families'), h('div', { class: 'row checks' }, this.boxes.map((x) => x.label))),
      this.n.element,
      this.fpr.element,
      note(OTHERS),
    );
    settings.classList.add('extra');
    this.element = h(
      'div',
      null,
      this.notices.element,
      pictureFirst(
        stack(panel(
          oneLine(this.ask, 'Ask all', this.notices.guard((key) => this.question(key))),
          row(
            button('A key that is in', this.notices.guard(() => this.question(this.keys[this.keys.length - 1])), 'link'),
            button('A key that fools one of them', this.notices.guard(() => this.fool()), 'link'),
          ),
        ), this.pictures, panel(this.out)),
        settings,
      ),
    );
  }

  shown() {
    this.notices.guard(() => this.remake(false))();
  }

  resume() {
    for (const side of this.made) side.stage?.resize();
  }

  close() {
    this.release();
  }

  release() {
    for (const side of this.made) {
      side.filter?.free();
      side.stage?.close();
    }
    this.made = [];
  }

  state() {
    return { kinds: this.chosen.join(','), n: this.n.value, fpr: this.fpr.value, ask: this.asked };
  }

  pick(name, input) {
    if (input.checked && this.chosen.length === MOST) {
      input.checked = false;
      throw new UserError('Three fit side by side: take one away first.');
    }
    if (!input.checked && this.chosen.length === 2) {
      input.checked = true;
      throw new UserError('Two is the least: choose another one first.');
    }
    this.chosen = input.checked ? [...this.chosen, name] : this.chosen.filter((kind) => kind !== name);
    this.remake();
  }

  remake() {
    this.notices.clear();
    this.release();
    this.keys = Array.from({ length: this.n.value }, (_, i) => (i < EXAMPLES.length ? EXAMPLES[i] : keyAt('words', i)));
    for (const { name, input } of this.boxes) input.checked = this.chosen.includes(name);
    this.made = this.chosen.map((kind) => this.make(kind));
    this.pictures.replaceChildren(...this.made.map((side) => this.side(side)));
    for (const side of this.made) this.drawSide(side);
    this.question(this.asked);
  }

  params(kind) {
    const params = { kind, nkeys: this.n.value, fpr: this.fpr.value };
    if (this.engine.traits(kind).expire) params.generations = GENERATIONS;
    return params;
  }

  /* make: a filter with all keys, or why there is none. */
  make(kind) {
    const side = { kind, traits: this.engine.traits(kind) };
    try {
      const params = this.params(kind);
      side.filter = side.traits.add ? this.engine.create(params) : this.engine.build(this.keys, params);
      if (side.traits.add) for (const key of this.keys) side.filter.add(key);
      const hits = side.filter.countMaybes(absentLines(PROBES));
      side.measured = { fpr: hits / PROBES, range: wilson(hits, PROBES) };
    } catch (error) {
      if (!error.statusName) throw error;
      side.filter?.free();
      side.filter = null;
      side.error = error.message;
    }
    return side;
  }

  side(side) {
    if (!side.filter) return panel(h('h3', null, side.kind), note(`Not possible: ${side.error}.`));
    side.stage = new Stage({ label: `The payload of the ${side.kind} filter`, describe: (cell) => this.describe(side, cell), onpick: (cell) => announce(this.describe(side, cell)) });
    side.told = h('p', { class: 'note' });
    side.says = h('strong');
    return panel(h('div', { class: 'row' }, h('h3', null, side.kind), side.says), side.told, side.stage.element);
  }

  describe(side, cell) {
    const g = side.stage.groups[side.stage.groupOf(cell)];
    return `${g.width === 1 ? 'bit' : 'slot'} ${cell - g.first}${g.label ? ` of ${g.label}` : ''} is ${side.stage.value(cell).toString(16)}`;
  }

  drawSide(side) {
    if (!side.filter) return;
    const payload = side.filter.payload();
    const s = side.filter.stats();
    const probes = Array.from({ length: 400 }, (_, i) => keyAt('integers', i));
    const some = [...probes, ...this.keys].map((key) => side.filter.explain(key));
    const reach = side.traits.add && s.fill > 0 ? Math.round(s.nbitsSet / s.fill) : s.nbits;
    side.stage.show(groupsOf(some, payload.length * 8, reach), payload);
  }

  /* question: all are asked for a key: their answers, and what each reads for it. */
  question(key) {
    if (key === '') throw new UserError('Type a key first.');
    this.notices.clear();
    this.asked = key;
    this.ask.value = key.length > 1000 ? '' : key;
    const isIn = this.keys.includes(key);
    for (const side of this.made.filter((x) => x.filter)) {
      side.why = side.filter.explain(key);
      side.lines = linesOf(side.why);
      side.stage.clearMarks();
      for (const step of needed(side.why)) for (const m of rings(step)) side.stage.mark(m.bit, m.mark);
      side.stage.flush();
      side.says.textContent = side.why.maybe ? 'maybe' : 'nay';
      side.says.className = `says ${side.says.textContent}`;
      side.told.textContent = `${side.why.maybe ? 'Maybe' : 'Nay'}: ${verdict(aboutOf(side.traits, side.why), side.why)}.`;
    }
    this.out.replaceChildren(this.table(key, isIn));
    announce(this.made.filter((x) => x.filter).map((x) => `${x.kind}: ${x.why.maybe ? 'maybe' : 'nay'}`).join(', '));
    this.changed();
  }

  table(key, isIn) {
    const sides = this.made;
    const line = (name, of) => [name, ...sides.map((x) => (x.filter ? of(x) : '\u2013'))];
    const rate = (x) => `${percent(x.measured.fpr, 2)} (${percent(x.measured.range[0], 2)} to ${percent(x.measured.range[1], 2)})`;
    const answer = (x) => h('strong', { class: x.why.maybe ? 'says maybe' : 'says nay', 'data-answer': x.why.maybe ? 'maybe' : 'nay' }, x.why.maybe ? 'maybe' : 'nay');
    const rows = [
      line(`${shorten(key, 24)}, which ${isIn ? 'is in' : 'is not in'}`, answer),
      line('cache lines until it is decided', (x) => count(x.lines)),
      line('payload', (x) => bytes(x.filter.payload().length)),
      line('bits for each key', (x) => ((8 * x.filter.payload().length) / this.n.value).toFixed(1)),
      line('FPR by its bits', (x) => percent(x.filter.stats().fprNow)),
      line(`FPR measured, ${count(PROBES)} absent keys`, rate),
      line('can', (x) => ['add', 'remove', 'merge', 'grow', 'expire'].filter((t) => x.traits[t]).join(', ') || 'only be asked: it is static'),
    ];
    return table({
      label: 'Families side by side',
      caption: `${count(this.n.value)} keys, the same in each, and an FPR of ${percent(this.fpr.value)} asked for`,
      head: ['family', ...sides.map((x) => x.kind)],
      rows,
      className: 'compared',
    });
  }

  /* fool: an absent key on which the families differ. */
  fool() {
    const sides = this.made.filter((x) => x.filter);
    for (let i = 0; i < 50000; i += 1) {
      const key = keyAt('words', 100000 + i);
      const answers = sides.map((x) => x.filter.has(key));
      if (answers.some((a) => a) && !answers.every((a) => a)) {
        this.question(key);
        return;
      }
    }
    throw new UserError('50,000 absent keys fool all of them, or none. Take a higher FPR.');
  }
}

/* linesOf: cache lines of the payload that a probe reads until the answer is decided. */
function linesOf(why) {
  const lines = new Set();
  for (const s of needed(why)) {
    if (s.nbits === 0 || s.kind === 'xor' || s.kind === 'constant') continue;
    for (const [bit, n] of [[s.bit, s.nbits], [s.bit2, s.nbits2]])
      for (let i = Math.floor(bit / LINE); n > 0 && i <= Math.floor((bit + n - 1) / LINE); i += 1) lines.add(i);
  }
  return lines.size;
}

export const compare = {
  id: 'compare',
  title: 'Side by side',
  heading: 'The same keys, side by side',
  lead: 'Two or three families with the same keys: what they cost, what they read, and what they answer.',
  mount: (context, params) => new Compare(context, params),
};
