/*
 * work.js - a filter at work: keys go in, their bits light up, questions are answered step by step.
 *
 * The filter is always ahead of the picture: an add or a build is done at once, and the player then
 * shows the steps that the library recorded. A family that must be built (xor, fuse, ribbon) is built
 * anew from all keys when one is added.
 */
import { h, announce, shorten, UserError } from '../dom.js';
import { applyParams, attempt } from '../field.js';
import { Blame } from '../blame.js';
import { groupsOf, trimSlots } from '../groups.js';
import { askScript, settle, slotName, verdict } from '../scripts.js';
import { addLines, addScript, bandScript, peelScript } from '../tracing.js';
import { EXAMPLES, keyAt } from '../keys.js';
import { SCENES } from '../families.js';
import { answerLine, note, table } from '../parts.js';
import { bytes, count } from '../number.js';
import { MOST_KEYS, WorkPage } from './work_page.js';

const MOST_BITS = 2e6; /* of a payload that the stage draws */
const MOST_TRACED = 3000; /* keys of a build that is played */
const TRACE = 1 << 17; /* events of it that are kept */
const MOST_TEXT = 64 * 1024 * 1024; /* characters of a key */

class Work extends WorkPage {
  constructor(context, params) {
    super(context);
    applyParams(params, this.fields());
    const named = params.get('keys');
    this.asked = params.get('ask') ?? (params.has('kind') ? null : 'moon');
    this.own = named !== null; /* the reader's keys: a link names them, and another family keeps them */
    const all = named === null ? (params.has('fill') ? [] : this.fresh(6)) : named.split('\n').filter((k) => k !== '');
    this.keys = all.slice(0, MOST_KEYS);
    const fill = Number(params.get('fill') ?? 0);
    if (fill > 0 && Number.isInteger(fill)) this.keys.push(...this.fresh(Math.min(fill, MOST_KEYS)));
    else if (params.has('fill'))
      this.notices.say('The number of keys in the link is no number: the filter is empty.', true);
    if (Math.max(all.length, fill) > MOST_KEYS)
      this.notices.say(`The link has more keys than this view draws: here are the first ${count(MOST_KEYS)}.`, true);
  }

  /* shown: the view is in the page and has a width. */
  shown() {
    this.notices
      .guard(() => this.remake(false))()
      .then(() => {
        if (this.asked !== null && this.filter) return this.ask(this.asked);
        return null;
      });
  }

  pause() {
    this.player.pause();
  }

  resume() {
    this.stage.resize();
  }

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
      kind: this.kind.value,
      n: this.n.value,
      by: this.by.value,
      fpr: this.by.value === 'fpr' ? this.fpr.value : null,
      bits: this.by.value === 'bits' ? this.bits.value : null,
      k: this.k.value || null,
      keys: filled ? null : this.keys.length === 0 ? '\n' : text,
      fill: filled ? this.keys.length : null,
      ask: this.asked,
    };
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

  /* make: a filter of the chosen plan with all keys in it. */
  make() {
    const params = this.params();
    const fresh = this.isStatic() ? this.engine.build(this.keys, params) : this.engine.create(params);
    try {
      if (fresh.payload().length * 8 > MOST_BITS)
        throw new UserError(
          `That is ${bytes(fresh.payload().length)}: too much to draw bit by bit. Overfill it shows filters of any size.`,
        );
      if (!this.isStatic()) for (const key of this.keys) fresh.add(key);
      return fresh;
    } catch (error) {
      fresh.free();
      throw error;
    }
  }

  /* remake: the filter of the chosen plan with all keys in it. When the library refuses, the old one stays. */
  remake(save = true) {
    const fresh = attempt(this, this.fields(), () => this.make());
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
    const samples = (
      this.keys.length > 0 ? this.keys.slice(0, this.kind.value === 'ribbon' ? 2000 : 12) : ['a', 'b', 'c']
    ).map((k) => this.filter.explain(k));
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
    for (const key of this.keys)
      for (const s of this.filter.explain(key).steps) if (s.kind === 'bit') this.stage.note(s.bit, String(s.counter));
    this.stage.flush();
  }

  check(key) {
    if (key.length > MOST_TEXT)
      throw new UserError('A key of more than 64 million characters is more than this page takes.');
    return key;
  }

  /* addOwn: a key that the reader typed: links and other families keep it. */
  addOwn(key) {
    this.add(key);
    this.own = true;
    this.changed();
  }

  /* add: one key, played step by step. */
  add(text) {
    const key = this.check(text);
    if (this.keys.length >= MOST_KEYS)
      throw new UserError(`This view draws up to ${count(MOST_KEYS)} keys. Overfill it takes millions.`);
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
    if (grown)
      for (const step of script) for (const w of step.writes ?? []) if (w.fresh) this.stage.write(w.bit, w.nbits, 0);
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
    if (this.keys.length === 0) {
      this.player.load([{ text: 'A filter of no keys says nay to everything.' }]);
      return;
    }
    this.band.start(0);
    if (this.keys.length > MOST_TRACED) {
      this.player.load([{ text: `Built from ${count(this.keys.length)} keys: too many to watch one by one.` }]);
      return;
    }
    const { value, events, lost } = this.engine.record(() => this.engine.build(this.keys, this.params()), TRACE);
    value.free();
    const payload = this.filter.payload();
    const peeled = events.some((e) => e.event === 'peelAssign');
    const banded = events.some((e) => e.event === 'bandColumn');
    if (lost > 0 || !(peeled || banded)) {
      const few =
        this.kind.value === 'ribbon'
          ? 'For so few keys a ribbon is stored as a small Bloom filter. Add some to see the band.'
          : `Built from ${count(this.keys.length)} keys.`;
      this.player.load([{ text: few }]);
      return;
    }
    if (peeled) this.stage.groups = trimSlots(this.stage.groups, events.find((e) => e.event === 'peelAttempt').slots);
    const script = peeled
      ? peelScript(events, this.keys, this.filter, this.stage)
      : bandScript(events, this.keys, this.filter, this.stage, this.band);
    this.stage.show(this.stage.groups, new Uint8Array(payload.length));
    this.player.load(settle(script, this.stage, payload), {
      speed: script.length > 2000 ? 600 : script.length > 200 ? 60 : 10,
    });
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
    if (keys.length === 1) {
      this.add(keys[0]);
      return;
    }
    this.player.finish();
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    if (this.isStatic()) {
      this.rebuildWith(keys);
      return;
    }
    const added = [];
    try {
      for (const key of keys) {
        added.push({ key, events: this.engine.record(() => this.filter.add(key), 256).events });
        this.keys.push(key);
      }
    } catch (error) {
      if (error.statusName !== 'EFULL') throw error;
      this.notices.say(
        `The filter is full and refuses more keys. ${count(this.keys.length)} are in, and it still answers for those.`,
        true,
      );
    }
    this.playChanges(() => addLines(added, this.stage), {
      speed: keys.length > 300 ? 600 : keys.length > 30 ? 60 : 10,
    });
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
    const added = inSet ? 'It was added, and a filter never forgets.' : 'It was never added: a false positive.';
    const rest = why.maybe ? added : 'It was certainly never added.';
    const reason = `: ${verdict(this.kind.value, why)}. ${rest}`;
    this.answer.replaceChildren(answerLine(why.maybe, h('b', null, shorten(key)), reason));
    announce(this.answer.textContent);
    if (this.blamed.contains(document.activeElement)) this.askInput.focus(); /* the chip with the focus goes */
    this.blamed.replaceChildren();
    this.player.load(askScript(this.kind.value, key, why));
    this.changed();
    if (why.maybe && !inSet) await this.explainFalsePositive(key, why);
  }

  /* explainFalsePositive: for each thing the probe found, the keys that put it there. */
  async explainFalsePositive(key, why) {
    const { blame } = this;
    await blame.fill();
    if (blame.stopped || this.asked !== key) return;
    const told = ['bit', 'fingerprint', 'slot'];
    const steps = why.steps.filter((s) => s.group === why.group && told.includes(s.kind));
    if (steps.length === 0) {
      const n = why.steps.length;
      const chance = `the parities of its ${n} columns agree by chance, as for one key in ${count(2 ** n)}`;
      this.blamed.replaceChildren(note(`No key is to blame: ${chance}.`));
      return;
    }
    const verb = { bit: 'set by', slot: 'also read by', fingerprint: 'of' }[steps[0].kind];
    const rows = steps.map((s) => [this.nameOf(s), this.blamedKeys(blame.of(s.bit))]);
    const caption = 'A false positive, explained: who put there what it found';
    this.blamed.replaceChildren(table({ label: caption, caption, head: ['it found', verb], rows, className: 'blame' }));
  }

  /* nameOf: what a step read, as the picture shows it. */
  nameOf(step) {
    if (step.kind === 'bit') return `bit ${this.kind.value === 'bloom' ? step.bit : step.bit - step.unitBit}`;
    return step.kind === 'fingerprint' ? `the fingerprint in ${slotName(step)}` : slotName(step);
  }

  blamedKeys(keys) {
    if (keys.length === 0) return ['nobody alone'];
    const chips = keys.slice(0, 8).map((key) => this.chip(key));
    return keys.length > 8 ? [...chips, ` and ${count(keys.length - 8)} more`] : chips;
  }

  /* findFalsePositive: asks for absent keys until one is a maybe. */
  findFalsePositive() {
    const have = new Set(this.keys);
    for (let i = 0; i < 200000; i += 1) {
      const key = keyAt('words', 100000 + i);
      if (!have.has(key) && this.filter.has(key)) return this.ask(key);
    }
    throw new UserError(
      '200,000 absent keys are all a nay: no false positive was found. Add keys, or take a higher FPR.',
    );
  }
}

export const work = {
  id: 'work',
  title: 'See it work',
  heading: 'See a filter think',
  lead: 'Add keys, ask for others. The library itself records each step: what it reads, what it changes, why it answers nay or maybe.',
  mount: (context, params) => new Work(context, params),
};
