/*
 * work_page.js - the fields, the picture and the texts of the view that shows a filter at work. What
 * the reader does with them is in work.js.
 */
import { h, announce, shorten, Notices } from '../dom.js';
import { NumberField, Choice } from '../field.js';
import { HUES, Stage } from '../stage.js';
import { Player } from '../player.js';
import { Band } from '../band.js';
import { lineOf, OTHERS } from '../families.js';
import { shapeOf } from '../groups.js';
import { Ledger } from '../ledger.js';
import { button, keyInput, note, oneLine, panel, row, stack, title } from '../parts.js';
import { bytes, count, percent } from '../number.js';

const GENERATIONS = 3; /* of a window, and as many ticks of its clock */
export const MOST_KEYS = 20000;

export class WorkPage {
  constructor(context) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.ledger = new Ledger();
    this.stage = new Stage({
      label: 'The bits of the filter',
      describe: (cell) => this.describe(cell),
      onpick: (cell) => announce(this.describe(cell)),
    });
    this.band = new Band();
    this.player = new Player(this.stage, 'Add a key or ask for one: its steps are listed here.');
    this.makeFields();
    this.layOut();
  }

  fields() {
    return { kind: this.kind, n: this.n, by: this.by, fpr: this.fpr, bits: this.bits, m: this.m, k: this.k, time: this.time };
  }

  makeFields() {
    const again = this.notices.guard(() => this.again());
    this.kind = new Choice({
      label: 'Family',
      value: 'bloom',
      options: this.engine.kinds.map(({ name, traits }) => ({ value: name, label: name, title: lineOf(name, traits) })),
      onchange: this.notices.guard((v) => this.scene(v)),
    });
    this.line = h('p', { class: 'note' });
    this.n = new NumberField({
      label: 'Planned keys (n)',
      value: 12,
      min: 1,
      max: MOST_KEYS,
      log: true,
      whole: true,
      show: count,
      onchange: again,
    });
    this.by = new Choice({
      label: 'Sized by',
      value: 'fpr',
      options: [
        { value: 'fpr', label: 'FPR' },
        { value: 'bits', label: 'bits per key' },
        { value: 'm', label: 'bits (m)' },
      ],
      onchange: again,
    });
    this.m = new NumberField({
      label: 'Bits of the filter (m)',
      value: 1024,
      min: 8,
      max: 1e6,
      log: true,
      whole: true,
      show: count,
      onchange: again,
    });
    this.time = new Choice({
      label: 'Time is counted in',
      value: 'keys',
      options: [
        { value: 'keys', label: 'keys' },
        { value: 'ticks', label: 'ticks of a clock' },
      ],
      onchange: again,
    });
    this.fpr = new NumberField({
      label: 'False-positive rate (FPR)',
      value: 0.1,
      min: 1e-4,
      max: 0.5,
      log: true,
      show: percent,
      onchange: again,
    });
    this.bits = new NumberField({ label: 'Bits per key', value: 6, min: 1, max: 32, step: 0.5, onchange: again });
    this.k = new NumberField({
      label: 'Probes per key (k), 0: the best',
      value: 0,
      min: 0,
      max: 16,
      whole: true,
      onchange: again,
    });
    this.addInput = keyInput('A key to add', 'a key');
    this.askInput = keyInput('A key to ask for', 'is this key in?');
    this.chips = h('div', { class: 'chips', tabindex: 0, role: 'group', 'aria-label': 'Keys in the filter' });
    this.answer = h('div');
    this.blamed = h('div');
    this.facts = h('p', { class: 'note' });
    this.legend = h('div', { class: 'legend', 'aria-hidden': 'true' });
    this.extra = h('div', { class: 'row' });
    this.gone = h('div');
  }

  layOut() {
    const act = (run) => this.notices.guard(run);
    const add = act((key) => this.addOwn(key));
    const size = panel(
      title('Size'),
      this.n.element,
      this.by.element,
      this.fpr.element,
      this.bits.element,
      this.m.element,
      this.k.element,
      this.time.element,
      note(OTHERS),
    );
    size.classList.add('later');
    const keys = stack(
      panel(
        title('Keys'),
        oneLine(this.addInput, 'Add', add),
        row(
          button(
            '+1',
            act(() => this.addMany(1)),
          ),
          button(
            '+10',
            act(() => this.addMany(10)),
          ),
          button(
            'Fill it',
            act(() => this.addMany(Math.max(1, this.n.value - this.keys.length))),
          ),
          button(
            'Empty',
            act(() => this.empty()),
          ),
        ),
        this.extra,
        this.chips,
        this.gone,
      ),
      size,
    );
    const picture = stack(
      panel(
        oneLine(
          this.askInput,
          'Ask',
          act((key) => this.askOwn(key)),
        ),
        row(
          button(
            'Find a false positive',
            act(() => this.findFalsePositive()),
            'link',
          ),
          h('span', { class: 'note wide extra' }, 'or click a key to ask for it'),
        ),
        this.answer,
        this.band.element,
        this.stage.element,
        this.legend,
        this.facts,
        this.blamed,
      ),
      panel(title('Step by step'), this.player.element),
    );
    const families = h('div', { class: 'families extra' }, this.kind.element, this.line);
    keys.classList.add('extra');
    this.element = h('div', null, this.notices.element, families, h('div', { class: 'cols wideleft' }, picture, keys));
  }

  /* keys: that are in, in the order of adding. */
  get keys() {
    return this.ledger.entries().map((entry) => entry.key);
  }

  get traits() {
    return this.engine.traits(this.kind.value);
  }

  /* params: of the filter that the fields describe. */
  params() {
    const kind = this.kind.value;
    const takes = this.engine.takes(kind);
    const params = { kind, nkeys: this.n.value };
    if (this.by.value === 'm' && takes.nbits) params.nbits = this.m.value;
    else if (this.by.value === 'bits' && takes.bitsPerKey) params.bitsPerKey = this.bits.value;
    else params.fpr = this.fpr.value;
    if (this.k.value > 0 && takes.k) params.k = this.k.value;
    if (this.traits.expire) {
      params.generations = GENERATIONS;
      if (this.time.value === 'ticks') params.window = GENERATIONS;
    }
    return params;
  }

  isStatic() {
    return !this.traits.add;
  }

  /* tell: facts, chips and the text alternative of the picture. */
  tell() {
    const s = this.filter.stats();
    this.line.textContent = lineOf(this.kind.value, this.traits);
    this.facts.textContent = this.factsOf(s);
    this.stage.label(`The payload of a ${this.kind.value} filter, drawn. ${this.facts.textContent}`);
    const { keys } = this;
    const shown = keys.slice(-200);
    const rest = keys.length - shown.length;
    this.chips.replaceChildren(...shown.map((key) => this.chip(key)));
    if (rest > 0) this.chips.append(note(`and ${count(rest)} before them`));
    if (keys.length === 0) this.chips.append(note('The filter is empty: it says nay to everything.'));
    const expired = this.ledger.expired();
    const some = expired.slice(-40).map((key) => this.chip(key));
    this.gone.replaceChildren();
    if (expired.length > 0)
      this.gone.append(
        note(`${count(expired.length)} ${expired.length === 1 ? 'key has' : 'keys have'} expired:`),
        h('div', { class: 'chips old', tabindex: 0, role: 'group', 'aria-label': 'Keys that have expired' }, some),
      );
    if (this.traits.expire) this.drawLegend(); /* the newest generation is another one */
  }

  /* factsOf: what is in the filter, in words that fit what it stores. */
  factsOf(s) {
    const n = this.keys.length;
    const shape = shapeOf(this.samples);
    const { groups } = this.stage;
    const cells = groups.reduce((sum, g) => sum + g.ncells, 0);
    const parts = {
      bit: () =>
        `${count(cells)} bits${s.k && !this.traits.grow ? `, k = ${s.k}` : ''}; ` +
        `${count(s.nbitsSet)} of them are 1, ${percent(s.fill)}`,
      fingerprint: () =>
        `${count(cells)} slots of ${groups[0].width} bits; ${count(Math.round(s.fill * cells))} are taken, ${percent(s.fill)}`,
      slot: () => `${count(cells)} slots of ${groups[0].width} bits`,
      column: () => `${count(cells)} bits of the solution`,
      none: () => 'nothing to read',
    }[shape]();
    const counters = this.traits.remove && shape === 'bit' ? ', with a counter for each bit' : '';
    return (
      `${count(n)} ${n === 1 ? 'key' : 'keys'} in ${bytes(this.filter.payload().length)}${counters}: ${parts}. ` +
      `An absent key is a maybe with a chance of ${percent(s.fprNow)}${s.overloaded ? ': overloaded' : ''}.`
    );
  }

  /* chip: a key, which a click asks for. */
  chip(key) {
    return button(
      shorten(key, 24),
      this.notices.guard(() => this.ask(key)),
      'chip',
    );
  }

  /* options: what belongs to one family alone. */
  options() {
    const act = (run) => this.notices.guard(run);
    const { traits } = this;
    const takes = this.engine.takes(this.kind.value);
    const by = (this.by.value === 'm' && takes.nbits) || (this.by.value === 'bits' && takes.bitsPerKey) ? this.by.value : 'fpr';
    this.by.element.hidden = !takes.bitsPerKey && !takes.nbits;
    this.by.allow('m', takes.nbits);
    this.fpr.element.hidden = by !== 'fpr';
    this.bits.element.hidden = by !== 'bits';
    this.m.element.hidden = by !== 'm';
    this.k.element.hidden = !takes.k;
    this.time.element.hidden = !traits.expire;
    const extra = [];
    if (traits.remove) extra.push(['Remove the last key', () => this.removeLast()]);
    if (traits.expire && this.time.value === 'ticks') extra.push(['Let a tick pass', () => this.tick()]);
    if (this.isStatic()) extra.push(['Build it again, slowly', () => this.playBuild()]);
    this.extra.replaceChildren(...extra.map(([label, run]) => button(label, act(run))));
    this.extra.hidden = extra.length === 0;
    this.drawLegend();
  }

  drawLegend() {
    const swatch = (style, text) => h('span', null, h('i', { style }), text);
    const shape = this.samples ? shapeOf(this.samples) : 'bit';
    const hues = this.stage.groups[0]?.hues ?? 0;
    const slots = shape === 'fingerprint' || shape === 'slot';
    const [one, zero] = { fingerprint: ['fingerprint', 'empty slot'], slot: ['slot that is not 0', '0'] }[shape] ?? [
      'bit is 1',
      'bit is 0',
    ];
    const age = (i) => (this.ledger.newest - i + hues) % hues;
    const ages = Array.from({ length: hues }, (_, i) =>
      swatch(
        `background: var(${HUES[i % HUES.length]})`,
        `bit of generation ${i}, ${age(i) === 0 ? 'the newest' : `of age ${age(i)}`}`,
      ),
    );
    this.legend.replaceChildren(
      ...(hues > 0 ? ages : [swatch(`background: ${slots ? this.stage.slotColour() : 'var(--cell1)'}`, one)]),
      swatch('background: var(--cell0)', zero),
      swatch('box-shadow: inset 0 0 0 3px var(--amber2)', 'read by this step'),
      swatch('box-shadow: inset 0 0 0 3px var(--pink)', 'read, and not what it needs'),
    );
  }

  /* describe: a cell in words, with the keys that it belongs to when they are few. */
  describe(cell) {
    const g = this.stage.groups[this.stage.groupOf(cell)];
    const at = cell - g.first;
    const value = this.stage.value(cell);
    const generation = g.hues ? `, generation ${at % g.hues},` : '';
    const head = g.width === 1 ? `bit ${at}${generation} is ${value}` : `slot ${at}: ${value.toString(16)}`;
    if (this.keys.length > 300 || shapeOf(this.samples) === 'column') return head;
    const keys = this.blame.now().of(this.stage.bitOf(cell));
    if (keys.length === 0) return head;
    const names = keys.slice(0, 4).map((k) => shorten(k, 16));
    return `${head}: ${names.join(', ')}${keys.length > 4 ? ` and ${keys.length - 4} more` : ''}`;
  }
}
