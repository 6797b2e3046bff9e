/*
 * work_page.js - the fields, the picture and the texts of the view that shows a filter at work. What
 * the reader does with them is in work.js.
 */
import { h, announce, shorten, Notices } from '../dom.js';
import { NumberField, Choice } from '../field.js';
import { HUES, Stage } from '../stage.js';
import { Player } from '../player.js';
import { Band } from '../band.js';
import { FAMILIES } from '../families.js';
import { button, cols, keyInput, note, oneLine, panel, row, stack, title } from '../parts.js';
import { bytes, count, percent } from '../number.js';

const STATIC = ['xor', 'fuse', 'ribbon'];
const WITH_K = ['bloom', 'blocked', 'counting', 'window', 'fuse'];
export const MOST_KEYS = 20000;

export class WorkPage {
  constructor(context) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.keys = [];
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
    return { kind: this.kind, n: this.n, by: this.by, fpr: this.fpr, bits: this.bits, k: this.k };
  }

  makeFields() {
    const again = this.notices.guard(() => this.remake());
    this.kind = new Choice({
      label: 'Family',
      value: 'bloom',
      options: Object.keys(FAMILIES).map((value) => ({ value, label: value, title: FAMILIES[value].line })),
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
      this.k.element,
    );
    size.classList.add('later');
    const left = stack(
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
      ),
      size,
    );
    const right = stack(
      panel(
        oneLine(
          this.askInput,
          'Ask',
          act((key) => this.ask(key)),
        ),
        row(
          button(
            'Find a false positive',
            act(() => this.findFalsePositive()),
            'link',
          ),
          h('span', { class: 'note' }, 'or click a key to ask for it'),
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
    const families = h('div', { class: 'families' }, this.kind.element, this.line);
    this.element = h('div', null, this.notices.element, families, cols(left, right));
  }

  /* params: of the filter that the fields describe. */
  params() {
    const kind = this.kind.value;
    const params = { kind, nkeys: this.n.value };
    if (this.by.value === 'fpr' || kind === 'scalable') params.fpr = this.fpr.value;
    else params.bitsPerKey = this.bits.value;
    if (this.k.value > 0 && WITH_K.includes(kind)) params.k = this.k.value;
    if (kind === 'window') params.generations = 3;
    return params;
  }

  isStatic() {
    return STATIC.includes(this.kind.value);
  }

  plan() {
    try {
      return this.engine.plan(this.params());
    } catch {
      return null;
    }
  }

  /* tell: facts, chips and the text alternative of the picture. */
  tell() {
    const s = this.filter.stats();
    const plan = this.plan();
    this.line.textContent = FAMILIES[this.kind.value].line;
    const k = plan && plan.k ? `, k = ${plan.k}` : '';
    const set = this.isStatic() ? '' : `, ${percent(s.fill)} of them set`;
    this.facts.textContent =
      `${count(this.keys.length)} keys in ${bytes(Math.ceil(s.nbits / 8))} (${count(s.nbits)} bits${k})${set}. ` +
      `An absent key is a maybe with a chance of ${percent(s.fprNow)}${s.overloaded ? ': overloaded' : ''}.`;
    this.stage.label(
      `Picture of the payload of a ${this.kind.value} filter: ${count(s.nbits)} bits, ${count(s.nbitsSet)} are 1. ` +
        'Arrow keys go from cell to cell; the steps are listed below.',
    );
    const shown = this.keys.slice(-200);
    const rest = this.keys.length - shown.length;
    this.chips.replaceChildren(...shown.map((key) => this.chip(key)));
    if (rest > 0) this.chips.append(note(`and ${count(rest)} before them`));
    if (this.keys.length === 0) this.chips.append(note('The filter is empty: it says nay to everything.'));
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
    const kind = this.kind.value;
    const act = (run) => this.notices.guard(run);
    this.by.element.hidden = kind === 'scalable';
    this.fpr.element.hidden = this.by.value !== 'fpr' && kind !== 'scalable';
    this.bits.element.hidden = this.by.value !== 'bits' || kind === 'scalable';
    this.k.element.hidden = !WITH_K.includes(kind);
    const removes = kind === 'counting' || kind === 'cuckoo';
    this.extra.replaceChildren();
    if (removes)
      this.extra.append(
        button(
          'Remove the last key',
          act(() => this.removeLast()),
        ),
      );
    if (this.isStatic())
      this.extra.append(
        button(
          'Build it again, slowly',
          act(() => this.playBuild()),
        ),
      );
    this.extra.hidden = !removes && !this.isStatic();
    this.drawLegend(kind);
  }

  drawLegend(kind) {
    const swatch = (style, text) => h('span', null, h('i', { style }), text);
    const [one, zero] = {
      cuckoo: ['fingerprint', 'empty'],
      xor: ['slot that is not 0', '0'],
      fuse: ['slot that is not 0', '0'],
    }[kind] ?? ['bit is 1', 'bit is 0'];
    const ones = HUES.map((hue, i) => swatch(`background: var(${hue})`, `bit of generation ${i}`));
    this.legend.replaceChildren(
      ...(kind === 'window' ? ones : [swatch('background: var(--cell1)', one)]),
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
    if (this.keys.length > 300 || this.kind.value === 'ribbon') return head;
    const keys = this.blame.now().of(this.stage.bitOf(cell));
    if (keys.length === 0) return head;
    const names = keys.slice(0, 4).map((k) => shorten(k, 16));
    return `${head}: ${names.join(', ')}${keys.length > 4 ? ` and ${keys.length - 4} more` : ''}`;
  }
}
