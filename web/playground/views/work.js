/*
 * work.js - a filter at work: keys go in, their bits light up, questions are answered step by step.
 *
 * The filter is always ahead of the picture: an add or a build is done at once, and the player then
 * shows the steps that the library recorded. A family that must be built (xor, fuse, ribbon) is built
 * anew from all keys when one is added.
 */
import { h, announce, shorten, Notices, UserError } from '../dom.js';
import { NumberField, Choice, applyParams, attempt } from '../field.js';
import { HUES, Stage } from '../stage.js';
import { Player } from '../player.js';
import { Blame } from '../blame.js';
import { groupsOf, trimSlots } from '../groups.js';
import { Band } from '../band.js';
import { askScript, settle, slotName, verdict } from '../scripts.js';
import { addLines, addScript, bandScript, peelScript } from '../tracing.js';
import { EXAMPLES, keyAt } from '../keys.js';
import { FAMILIES, SCENES } from '../families.js';
import { bytes, count, percent } from '../number.js';

const STATIC = ['xor', 'fuse', 'ribbon'];
const MOST_KEYS = 20000;
const MOST_BITS = 2e6; /* of a payload that the stage draws */
const MOST_TRACED = 3000; /* keys of a build that is played */
const TRACE = 1 << 17; /* events of it that are kept */
const MOST_TEXT = 64 * 1024 * 1024; /* characters of a key */

class Work {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.keys = [];
    this.stage = new Stage({ label: 'The bits of the filter', describe: (cell) => this.describe(cell), onpick: (cell) => announce(this.describe(cell)) });
    this.band = new Band();
    this.player = new Player(this.stage, 'Add a key or ask for one: its steps are listed here.');
    this.fields();
    this.build();
    applyParams(params, { kind: this.kind, n: this.n, by: this.by, fpr: this.fpr, bits: this.bits, k: this.k });
    const named = params.get('keys');
    this.asked = params.get('ask') ?? (params.has('kind') ? null : 'moon');
    this.own = named !== null; /* the reader's keys: a link names them, and another family keeps them */
    this.keys = (named === null ? (params.has('fill') ? [] : this.fresh(6)) : named.split('\n').filter((k) => k !== '')).slice(0, MOST_KEYS);
    const fill = Number(params.get('fill') ?? 0);
    if (fill > 0 && Number.isInteger(fill)) this.keys.push(...this.fresh(Math.min(fill, MOST_KEYS)));
    else if (params.has('fill')) this.notices.say('The number of keys in the link is no number: the filter is empty.', true);
  }

  fields() {
    const again = this.notices.guard(() => this.remake());
    this.kind = new Choice({ label: 'Family', value: 'bloom', options: Object.keys(FAMILIES).map((value) => ({ value, label: value, title: FAMILIES[value].line })), onchange: this.notices.guard((v) => this.scene(v)) });
    this.line = h('p', { class: 'note' });
    this.n = new NumberField({ label: 'Planned keys (n)', value: 12, min: 1, max: MOST_KEYS, log: true, whole: true, show: count, onchange: again });
    this.by = new Choice({ label: 'Sized by', value: 'fpr', options: [{ value: 'fpr', label: 'FPR' }, { value: 'bits', label: 'bits per key' }], onchange: again });
    this.fpr = new NumberField({ label: 'False-positive rate (FPR)', value: 0.1, min: 1e-4, max: 0.5, log: true, show: percent, onchange: again });
    this.bits = new NumberField({ label: 'Bits per key', value: 6, min: 1, max: 32, step: 0.5, onchange: again });
    this.k = new NumberField({ label: 'Probes per key (k), 0: the best', value: 0, min: 0, max: 16, whole: true, onchange: again });
    this.addInput = h('input', { type: 'text', 'aria-label': 'A key to add', placeholder: 'a key', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
    this.askInput = h('input', { type: 'text', 'aria-label': 'A key to ask for', placeholder: 'is this key in?', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
    this.chips = h('div', { class: 'chips', tabindex: 0, role: 'group', 'aria-label': 'Keys in the filter' });
    this.answer = h('div');
    this.blamed = h('div');
    this.facts = h('p', { class: 'note' });
    this.legend = h('div', { class: 'legend', 'aria-hidden': 'true' });
  }

  build() {
    const form = (input, label, act, ...more) => h('form', { class: 'row', style: 'flex-wrap: nowrap', onsubmit: (e) => { e.preventDefault(); act(); } }, input, h('button', { type: 'submit', class: 'main' }, label), ...more);
    const guard = (act) => this.notices.guard(act);
    this.extra = h('div', { class: 'row' });
    this.element = h('div', null, this.notices.element, h('div', { class: 'families' }, this.kind.element, this.line), h('div', { class: 'cols' },
      h('div', { class: 'stack' },
        h('div', { class: 'panel stack' }, h('h3', null, 'Keys'), form(this.addInput, 'Add', guard(() => { this.add(this.addInput.value); this.own = true; this.changed(); })),
          h('div', { class: 'row' }, h('button', { type: 'button', onclick: guard(() => this.addMany(1)) }, '+1'), h('button', { type: 'button', onclick: guard(() => this.addMany(10)) }, '+10'),
            h('button', { type: 'button', onclick: guard(() => this.addMany(Math.max(1, this.n.value - this.keys.length))) }, 'Fill it'), h('button', { type: 'button', onclick: guard(() => this.empty()) }, 'Empty')),
          this.extra, this.chips),
        h('div', { class: 'panel stack later' }, h('h3', null, 'Size'), this.n.element, this.by.element, this.fpr.element, this.bits.element, this.k.element)),
      h('div', { class: 'stack' },
        h('div', { class: 'panel stack' }, form(this.askInput, 'Ask', guard(() => this.ask(this.askInput.value))),
          h('div', { class: 'row' }, h('button', { type: 'button', class: 'link', onclick: guard(() => this.findFalsePositive()) }, 'Find a false positive'), h('span', { class: 'note' }, 'or click a key to ask for it')),
          this.answer, this.band.element, this.stage.element, this.legend, this.facts, this.blamed),
        h('div', { class: 'panel stack' }, h('h3', null, 'Step by step'), this.player.element))));
  }

  /* shown: the view is in the page and has a width. */
  shown() {
    this.notices.guard(() => this.remake(false))().then(() => {
      if (this.asked !== null && this.filter) return this.ask(this.asked);
      return null;
    });
  }

  pause() { this.player.pause(); }

  resume() { this.stage.resize(); }

  close() {
    this.player.pause();
    this.stage.close();
    this.band.close();
    this.blame?.stop();
    this.filter?.free();
    this.filter = null;
  }

  state() {
    const text = this.keys.join('\n'); /* a text field has no newline */
    const filled = !this.own && this.keys.length > 20;
    return {
      kind: this.kind.value, n: this.n.value, by: this.by.value, fpr: this.by.value === 'fpr' ? this.fpr.value : null, bits: this.by.value === 'bits' ? this.bits.value : null,
      k: this.k.value || null, keys: filled ? null : this.keys.length === 0 ? '\n' : text, fill: filled ? this.keys.length : null, ask: this.asked,
    };
  }

  params() {
    const kind = this.kind.value;
    const params = { kind, nkeys: this.n.value };
    if (this.by.value === 'fpr' || kind === 'scalable') params.fpr = this.fpr.value; else params.bitsPerKey = this.bits.value;
    if (this.k.value > 0 && ['bloom', 'blocked', 'counting', 'window'].includes(kind)) params.k = this.k.value;
    if (this.k.value > 0 && kind === 'fuse') params.k = this.k.value;
    if (kind === 'window') params.generations = 3;
    return params;
  }

  /* scene: another family, with the numbers that show it best unless the reader brought keys. */
  scene(kind) {
    if (!this.own) {
      const { n, fpr, keys } = SCENES[kind];
      this.n.accept(n, true);
      this.by.set('fpr');
      this.fpr.accept(fpr, true);
      this.k.accept(0, true);
      this.keys = [];
      this.keys = this.fresh(keys);
    }
    this.remake();
  }

  isStatic() { return STATIC.includes(this.kind.value); }

  /* make: a filter of the chosen plan with all keys in it. */
  make() {
    const params = this.params();
    const fresh = this.isStatic() ? this.engine.build(this.keys, params) : this.engine.create(params);
    try {
      if (fresh.payload().length * 8 > MOST_BITS) throw new UserError(`That is ${bytes(fresh.payload().length)}: too much to draw bit by bit. Overfill it shows filters of any size.`);
      if (!this.isStatic()) for (const key of this.keys) fresh.add(key);
      return fresh;
    } catch (error) {
      fresh.free();
      throw error;
    }
  }

  /* remake: the filter of the chosen plan with all keys in it. When the library refuses, the old one stays. */
  remake(save = true) {
    const fresh = attempt(this, { kind: this.kind, n: this.n, by: this.by, fpr: this.fpr, bits: this.bits, k: this.k }, () => this.make());
    this.player.pause();
    this.blame?.stop();
    this.filter?.free();
    this.filter = fresh;
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    if (save) this.asked = null;
    this.band.start(0);
    this.redraw();
    this.player.load([]);
    this.options();
    if (this.isStatic()) this.playBuild();
    if (save) this.changed();
  }

  /* redraw: the stage from the payload as it is. */
  redraw() {
    const payload = this.filter.payload();
    const stats = this.filter.stats();
    const samples = (this.keys.length > 0 ? this.keys.slice(0, this.kind.value === 'ribbon' ? 2000 : 12) : ['a', 'b', 'c']).map((k) => this.filter.explain(k));
    const settable = stats.fill > 0 ? Math.round(stats.nbitsSet / stats.fill) : payload.length * 8;
    const groups = groupsOf(this.kind.value, samples, payload.length * 8, this.settable(settable, stats));
    this.stage.show(groups, payload);
    this.renewBlame();
    if (this.kind.value === 'counting') this.counters();
    this.tell();
  }

  renewBlame() {
    this.blame?.stop();
    this.blame = new Blame(this.filter, this.keys);
  }

  /* settable: bits that keys can set. An empty filter does not say it; its plan does, for bits alone. */
  settable(known, stats) {
    if (stats.fill > 0) return known;
    return this.filter.params().nbits || stats.nbits;
  }

  counters() {
    for (const key of this.keys) for (const s of this.filter.explain(key).steps) if (s.kind === 'bit') this.stage.note(s.bit, String(s.counter));
    this.stage.flush();
  }

  /* tell: facts, chips and the text alternative of the picture. */
  tell() {
    const s = this.filter.stats();
    const plan = this.plan();
    this.line.textContent = FAMILIES[this.kind.value].line;
    const k = plan && plan.k ? `, k = ${plan.k}` : '';
    this.facts.textContent = `${count(this.keys.length)} keys in ${bytes(Math.ceil(s.nbits / 8))} (${count(s.nbits)} bits${k})${this.isStatic() ? '' : `, ${percent(s.fill)} of them set`}. An absent key is a maybe with a chance of ${percent(s.fprNow)}${s.overloaded ? ': overloaded' : ''}.`;
    this.stage.label(`Picture of the payload of a ${this.kind.value} filter: ${count(s.nbits)} bits, ${count(s.nbitsSet)} are 1. Arrow keys go from cell to cell; the steps are listed below.`);
    const shown = this.keys.slice(-200);
    this.chips.replaceChildren(...shown.map((key) => h('button', { type: 'button', class: 'chip', title: 'Ask for this key', onclick: this.notices.guard(() => this.ask(key)) }, shorten(key, 24))),
      ...(this.keys.length > shown.length ? [h('span', { class: 'note' }, `and ${count(this.keys.length - shown.length)} before them`)] : []),
      ...(this.keys.length === 0 ? [h('span', { class: 'note' }, 'The filter is empty: it says nay to everything.')] : []));
  }

  plan() {
    try { return this.engine.plan(this.params()); } catch { return null; }
  }

  /* options: what belongs to one family alone. */
  options() {
    const kind = this.kind.value;
    const guard = (act) => this.notices.guard(act);
    this.by.element.hidden = kind === 'scalable';
    this.fpr.element.hidden = this.by.value !== 'fpr' && kind !== 'scalable';
    this.bits.element.hidden = this.by.value !== 'bits' || kind === 'scalable';
    this.k.element.hidden = !['bloom', 'blocked', 'counting', 'window', 'fuse'].includes(kind);
    const extra = [];
    if (kind === 'counting' || kind === 'cuckoo') extra.push(h('button', { type: 'button', onclick: guard(() => this.removeLast()) }, 'Remove the last key'));
    if (this.isStatic()) extra.push(h('button', { type: 'button', onclick: guard(() => this.playBuild()) }, 'Build it again, slowly'));
    this.extra.replaceChildren(...extra);
    this.extra.hidden = extra.length === 0;
    const swatch = (style, text) => h('span', null, h('i', { style }), text);
    const bits = !['cuckoo', 'xor', 'fuse'].includes(kind);
    const ones = kind === 'window' ? HUES.map((hue, i) => swatch(`background: var(${hue})`, `bit of generation ${i}`)) : [swatch('background: var(--cell1)', bits ? 'bit is 1' : kind === 'cuckoo' ? 'fingerprint' : 'slot that is not 0')];
    this.legend.replaceChildren(...ones, swatch('background: var(--cell0)', bits ? 'bit is 0' : kind === 'cuckoo' ? 'empty' : '0'),
      swatch('box-shadow: inset 0 0 0 3px var(--amber2)', 'read by this step'), swatch('box-shadow: inset 0 0 0 3px var(--pink)', 'read, and not what it needs'));
  }

  check(key) {
    if (key.length > MOST_TEXT) throw new UserError('A key of more than 64 million characters is more than this page takes.');
    return key;
  }

  /* add: one key, played step by step. */
  add(text) {
    const key = this.check(text);
    if (this.keys.length >= MOST_KEYS) throw new UserError(`This view draws up to ${count(MOST_KEYS)} keys. Overfill it takes millions.`);
    this.player.finish();
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    this.asked = null;
    if (this.isStatic()) {
      this.rebuildWith([key]);
      return;
    }
    const { events } = this.engine.record(() => this.filter.add(key));
    this.keys.push(key);
    this.addInput.value = '';
    this.playChanges(() => addScript(key, this.filter.explain(key), events, this.stage, 'in'));
    announce(`Added ${shorten(key)}.`);
  }

  /*
   * playChanges: the script of adds that were done, over the picture of before. A filter that has grown
   * is laid out anew first, and what the script will set is taken out of the picture again.
   */
  playChanges(make, options = {}) {
    const grown = this.filter.payload().length !== this.stage.shown.length;
    if (grown) this.redraw();
    const script = make();
    if (grown) for (const step of script) for (const w of step.writes ?? []) if (w.fresh) this.stage.write(w.bit, w.nbits, 0);
    if (grown) this.stage.flush();
    this.renewBlame();
    this.player.load(settle(script, this.stage, this.filter.payload()), options);
    this.tell();
    this.changed();
  }

  rebuildWith(keys) {
    const built = this.engine.build([...this.keys, ...keys], this.params());
    this.blame?.stop();
    this.filter.free();
    this.filter = built;
    this.keys.push(...keys);
    this.addInput.value = '';
    this.redraw();
    this.playBuild();
    this.changed();
  }

  /* playBuild: how a static filter is made, from the trace of the library. */
  playBuild() {
    if (this.keys.length === 0) { this.player.load([{ text: 'A filter of no keys says nay to everything.' }]); return; }
    this.band.start(0);
    if (this.keys.length > MOST_TRACED) { this.player.load([{ text: `Built from ${count(this.keys.length)} keys: too many to watch one by one.` }]); return; }
    const { value, events, lost } = this.engine.record(() => this.engine.build(this.keys, this.params()), TRACE);
    value.free();
    const payload = this.filter.payload();
    const peeled = events.some((e) => e.event === 'peelAssign');
    const banded = events.some((e) => e.event === 'bandColumn');
    if (lost > 0 || !(peeled || banded)) {
      const few = this.kind.value === 'ribbon' ? 'For so few keys a ribbon is stored as a small Bloom filter. Add some to see the band.' : `Built from ${count(this.keys.length)} keys.`;
      this.player.load([{ text: few }]);
      return;
    }
    if (peeled) this.stage.groups = trimSlots(this.stage.groups, events.find((e) => e.event === 'peelAttempt').slots);
    const script = peeled ? peelScript(events, this.keys, this.filter, this.stage) : bandScript(events, this.keys, this.filter, this.stage, this.band);
    this.stage.show(this.stage.groups, new Uint8Array(payload.length));
    this.player.load(settle(script, this.stage, payload), { speed: script.length > 2000 ? 600 : script.length > 200 ? 60 : 10 });
  }

  fresh(n) {
    const have = new Set(this.keys);
    const out = [];
    for (let i = 0; out.length < n && i < EXAMPLES.length; i += 1) if (!have.has(EXAMPLES[i])) out.push(EXAMPLES[i]);
    for (let i = 0; out.length < n; i += 1) {
      const key = keyAt('words', i);
      if (!have.has(key)) out.push(key);
    }
    return out;
  }

  /* addMany: generated keys, one step for each. */
  addMany(n) {
    const room = MOST_KEYS - this.keys.length;
    if (room <= 0) throw new UserError(`This view draws up to ${count(MOST_KEYS)} keys. Overfill it takes millions.`);
    const keys = this.fresh(Math.min(n, room));
    if (keys.length === 1) { this.add(keys[0]); return; }
    this.player.finish();
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    if (this.isStatic()) { this.rebuildWith(keys); return; }
    const added = [];
    try {
      for (const key of keys) {
        added.push({ key, events: this.engine.record(() => this.filter.add(key), 256).events });
        this.keys.push(key);
      }
    } catch (error) {
      if (error.statusName !== 'EFULL') throw error;
      this.notices.say(`The filter is full and refuses more keys. ${count(this.keys.length)} are in, and it still answers for those.`, true);
    }
    this.playChanges(() => addLines(added, this.stage), { speed: keys.length > 300 ? 600 : keys.length > 30 ? 60 : 10 });
    announce(`${count(added.length)} keys added.`);
  }

  empty() {
    this.keys = [];
    this.own = false;
    this.asked = null;
    this.remake();
  }

  removeLast() {
    if (this.keys.length === 0) throw new UserError('There is no key to remove.');
    const key = this.keys[this.keys.length - 1];
    this.player.finish();
    const { events } = this.engine.record(() => this.filter.remove(key));
    this.keys.pop();
    this.playChanges(() => addScript(key, this.filter.explain(key), events, this.stage, 'out'));
  }

  /* ask: the answer at once, then the steps to it, and for a false positive who is to blame. */
  async ask(text) {
    const key = this.check(text);
    const why = this.filter.explain(key);
    const inSet = this.keys.includes(key);
    this.player.finish();
    this.asked = key;
    this.askInput.value = key.length > 10000 ? '' : key;
    const word = why.maybe ? 'maybe' : 'nay';
    const rest = why.maybe ? (inSet ? 'It was added, and a filter never forgets.' : 'It was never added: a false positive.') : 'It was certainly never added.';
    this.answer.replaceChildren(h('p', { class: `answer ${word}`, 'data-answer': word }, h('strong', null, word), h('span', null, h('b', null, shorten(key)), `: ${verdict(this.kind.value, why)}. ${rest}`)));
    announce(this.answer.textContent);
    this.blamed.replaceChildren();
    this.player.load(askScript(this.kind.value, key, why));
    this.changed();
    if (why.maybe && !inSet) await this.explainFalsePositive(key, why);
  }

  /* explainFalsePositive: for each thing the probe found, the keys that put it there. */
  async explainFalsePositive(key, why) {
    const blame = this.blame;
    await blame.fill();
    if (blame.stopped || this.asked !== key) return;
    const steps = why.steps.filter((s) => s.group === why.group && s.nbits > 0 && s.kind !== 'xor' && s.kind !== 'column');
    if (steps.length === 0) {
      this.blamed.replaceChildren(h('p', { class: 'note' }, `No key is to blame: the parities of its ${why.steps.length} columns agree by chance, as for one key in ${count(2 ** why.steps.length)}.`));
      return;
    }
    const row = (s) => {
      const keys = blame.of(s.bit);
      const what = s.kind === 'bit' ? `bit ${this.kind.value === 'bloom' ? s.bit : s.bit - s.unitBit}` : s.kind === 'fingerprint' ? `the fingerprint in ${slotName(s)}` : slotName(s);
      return h('tr', null, h('th', { scope: 'row' }, what), h('td', null, keys.slice(0, 8).map((k) => h('button', { type: 'button', class: 'chip', onclick: this.notices.guard(() => this.ask(k)) }, shorten(k, 24))), keys.length > 8 ? ` and ${count(keys.length - 8)} more` : keys.length === 0 ? 'nobody alone' : null));
    };
    const verb = steps[0].kind === 'bit' ? 'set by' : steps[0].kind === 'slot' ? 'also read by' : 'of';
    this.blamed.replaceChildren(h('table', { class: 'blame' }, h('caption', null, 'A false positive, explained: who put there what it found'),
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'it found'), h('th', { scope: 'col' }, verb))), h('tbody', null, steps.map(row))));
  }

  /* findFalsePositive: asks for absent keys until one is a maybe. */
  findFalsePositive() {
    const have = new Set(this.keys);
    for (let i = 0; i < 200000; i += 1) {
      const key = keyAt('words', 100000 + i);
      if (!have.has(key) && this.filter.has(key)) return this.ask(key);
    }
    throw new UserError('200,000 absent keys are all a nay: no false positive was found. Add keys, or take a higher FPR.');
  }

  describe(cell) {
    const bit = this.stage.bitOf(cell);
    const value = this.stage.value(cell);
    const g = this.stage.groups[this.stage.groupOf(cell)];
    const head = g.width === 1 ? `bit ${bit - g.base}${g.hues ? `, generation ${(bit - g.base) % g.hues},` : ''} is ${value}` : `slot ${cell - g.first}: ${value === 0 ? '0' : value.toString(16)}`;
    if (this.keys.length <= 300 && this.kind.value !== 'ribbon') {
      while (this.blame.done < this.keys.length) { this.blame.addKey(this.blame.done); this.blame.done += 1; }
      const keys = this.blame.of(bit);
      if (keys.length > 0) return `${head}: ${keys.slice(0, 4).map((k) => shorten(k, 16)).join(', ')}${keys.length > 4 ? ` and ${keys.length - 4} more` : ''}`;
    }
    return head;
  }
}

export const work = {
  id: 'work',
  title: 'See it work',
  heading: 'See a filter think',
  lead: 'Add keys, ask for others. The library itself records each step: what it reads, what it changes, why it answers nay or maybe.',
  mount: (context, params) => new Work(context, params),
};
