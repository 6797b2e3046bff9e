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
import { groupsOf, shapeOf } from '../groups.js';
import { aboutOf, arrayBit, askScript, inArray, settle, slotName, verdict } from '../scripts.js';
import { Ledger } from '../ledger.js';
import { addLines, addScript, bandScript, peelScript, tickScript } from '../tracing.js';
import { spend } from '../frames.js';
import { EXAMPLES, keyAt } from '../keys.js';
import { sceneOf } from '../families.js';
import { answerLine, note, table } from '../parts.js';
import { bytes, count } from '../number.js';
import { MOST_KEYS, WorkPage } from './work_page.js';

const MOST_BITS = 2e6; /* of a payload that the stage draws */
const MOST_TRACED = 3000; /* keys of a build that is played */
const TRACE = 1 << 17; /* events of it that are kept */
const SAMPLES = 400; /* keys whose explanations say how the payload is divided */
const MOST_TEXT = 64 * 1024 * 1024; /* characters of a key */

class Work extends WorkPage {
  constructor(context, params) {
    super(context);
    applyParams(params, this.fields());
    const named = params.get('keys');
    const bare = !['n', 'by', 'fpr', 'bits', 'm', 'keys', 'fill'].some((name) => params.has(name)); /* a family alone: its scene */
    const { n, fpr, keys } = sceneOf(this.kind.value);
    if (bare) {
      this.n.accept(n, true);
      this.fpr.accept(fpr, true);
    }
    this.asked = params.get('ask') ?? (params.has('kind') ? null : 'moon');
    const all = named === null ? [] : named.split('\n').filter((k) => k !== '');
    this.mine = all.slice(0, MOST_KEYS); /* the reader's keys: a link names them, and another family keeps them */
    this.wanted = named === null && !params.has('fill') ? this.fresh(bare ? keys : 6) : this.mine.slice();
    const fill = Number(params.get('fill') ?? 0);
    if (fill > 0 && Number.isInteger(fill))
      this.wanted.push(...this.fresh(Math.min(fill, MOST_KEYS - this.wanted.length), this.wanted));
    else if (params.has('fill'))
      this.notices.say('The number of keys in the link is no number: the filter is empty.', true);
    if (all.length + (fill > 0 ? fill : 0) > MOST_KEYS)
      this.notices.say(`The link has more keys than this view draws: here are the first ${count(MOST_KEYS)}.`, true);
    this.ticks = (params.get('ticks') ?? '')
      .split('.')
      .slice(0, 100)
      .filter((t) => /^[0-9]{1,6}$/.test(t))
      .map(Number);
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
    const all = this.ledger.history.map((entry) => entry.key);
    const { mine } = this;
    const filled = all.length - mine.length;
    const again = [...mine, ...this.fresh(filled, mine)];
    const generated = filled > 0 && again.every((key, i) => key === all[i]); /* the link can say how many */
    const text = (generated ? mine : all).join('\n'); /* a text field has no newline */
    const short = text.length <= 2400;
    const named = short ? text : mine.join('\n');
    return {
      kind: this.kind.value,
      n: this.n.value,
      by: this.by.value,
      fpr: this.by.value === 'fpr' ? this.fpr.value : null,
      bits: this.by.value === 'bits' ? this.bits.value : null,
      m: this.by.value === 'm' ? this.m.value : null,
      k: this.k.value || null,
      time: this.time.value === 'keys' ? null : this.time.value,
      ticks: this.ledger.ticks.join('.') || null,
      keys: all.length === 0 ? '\n' : named === '' ? null : named,
      fill: generated || !short ? filled : null,
      ask: this.asked,
    };
  }

  /* scene: another family, with the numbers that show it best, and as many keys beside the reader's as that needs. */
  scene(kind) {
    const { n, fpr, keys } = sceneOf(kind);
    this.n.accept(Math.max(n, this.mine.length), true);
    this.by.set('fpr');
    this.fpr.accept(fpr, true);
    this.k.accept(0, true);
    this.time.set('keys');
    this.wanted = [...this.mine, ...this.fresh(Math.max(0, keys - this.mine.length), this.mine)];
    this.ticks = [];
    this.remake();
  }

  /* make: a filter of the chosen plan with all wanted keys in it, and the ledger of what was done. */
  make() {
    const params = this.params();
    const ledger = new Ledger();
    const keys = this.wanted;
    const fresh = this.isStatic() ? this.engine.build(keys, params) : this.engine.create(params);
    try {
      if (fresh.payload().length * 8 > MOST_BITS)
        throw new UserError(
          `That is ${bytes(fresh.payload().length)}: too much to draw bit by bit. Overfill it shows filters of any size.`,
        );
      if (params.window) fresh.advance(0);
      for (const [i, key] of keys.entries()) {
        while (params.window && this.ticks[ledger.ticks.length] === i) this.pass(fresh, ledger);
        const events = this.isStatic() ? [] : this.engine.record(() => fresh.add(key), 256).events;
        ledger.add(key, events, this.traits.expire ? fresh.explain(key) : { ngroups: 1 });
      }
      spend('keys', keys.length);
      while (params.window && this.ticks.length > ledger.ticks.length) this.pass(fresh, ledger);
      return { fresh, ledger };
    } catch (error) {
      fresh.free();
      throw error;
    }
  }

  /* pass: a tick of the clock of a window. */
  pass(filter, ledger) {
    ledger.ticks.push(ledger.history.length);
    const { events } = this.engine.record(() => filter.advance(ledger.ticks.length));
    ledger.watch(events);
    return events;
  }

  /* remake: the filter of the chosen plan with all keys in it. When the library refuses, the old one stays. */
  remake(save = true) {
    const { fresh, ledger } = attempt(this, this.fields(), () => this.make());
    this.player.pause();
    this.blame?.stop();
    this.filter?.free();
    this.filter = fresh;
    this.ledger = ledger;
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

  /* again: what the next filter is made of: the keys that are in, and the ticks between them. */
  again() {
    this.wanted = this.ledger.history.map((entry) => entry.key);
    this.ticks = this.ledger.ticks.slice();
    this.remake();
  }

  /* redraw: the stage from the payload as it is. */
  redraw() {
    const payload = this.filter.payload();
    const stats = this.filter.stats();
    const probes = Array.from({ length: SAMPLES }, (_, i) => keyAt('integers', i));
    const { keys } = this;
    this.samples = [...probes, ...(this.isStatic() ? keys.slice(0, 2000) : [])].map((key) => this.filter.explain(key));
    this.stage.show(groupsOf(this.samples, payload.length * 8, this.reachable(stats)), payload);
    this.renewBlame();
    this.counters();
    this.tell();
  }

  renewBlame() {
    this.blame?.stop();
    this.blame = new Blame(this.filter, this.ledger);
  }

  /* reachable: bits that keys can set or fill. An empty filter does not say it by its fill; its plan does. */
  reachable(stats) {
    if (this.isStatic()) return stats.nbits;
    return stats.fill > 0 ? Math.round(stats.nbitsSet / stats.fill) : this.filter.params().nbits || stats.nbits;
  }

  /* counters: of the bits that have one, as texts in the cells. */
  counters() {
    if (!this.traits.remove || shapeOf(this.samples) !== 'bit') return;
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
    this.need(key, this.addInput);
    this.add(key);
    this.mine.push(key);
    this.changed();
  }

  /* need: an empty field is not a key that somebody typed. */
  need(key, input) {
    if (key !== '') return;
    input.focus();
    throw new UserError('Type a key first.');
  }

  askOwn(key) {
    this.need(key, this.askInput);
    return this.ask(key);
  }

  /* add: one key, played step by step. */
  add(text) {
    const key = this.check(text);
    if (this.ledger.history.length >= MOST_KEYS)
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
    this.ledger.add(key, events, this.filter.explain(key));
    this.addInput.value = '';
    this.playChanges(() => addScript(key, this.filter.explain(key), events, this.stage, 'in'), { grown: grew(events) });
    announce(`Added ${shorten(key)}.`);
  }

  /*
   * playChanges: the script of adds that were done, over the picture of before. A filter that has grown
   * is laid out anew first, and what the script will set is taken out of the picture again, except what was set in the
   * layout of before: that is there from the start.
   */
  playChanges(make, options = {}) {
    const grown = options.grown || this.filter.payload().length !== this.stage.shown.length;
    if (grown) this.redraw();
    const script = make();
    if (grown) for (const step of script.filter((x) => x.stale)) Object.assign(step, { writes: [], marks: [], notes: [] });
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
    for (const key of keys) this.ledger.add(key, [], { ngroups: 1 });
    this.addInput.value = '';
    this.redraw();
    this.playBuild();
    this.changed();
  }

  /* playBuild: how a static filter is made, from the trace of the library. */
  playBuild() {
    const { keys } = this;
    if (keys.length === 0) {
      this.player.load([{ text: 'A filter of no keys says nay to everything.' }]);
      return;
    }
    this.band.start(0);
    if (keys.length > MOST_TRACED) {
      this.player.load([{ text: `Built from ${count(keys.length)} keys: too many to watch one by one.` }]);
      return;
    }
    const { value, events, lost } = this.engine.record(() => this.engine.build(keys, this.params()), TRACE);
    value.free();
    const payload = this.filter.payload();
    const peeled = events.some((e) => e.event === 'peelAssign');
    const banded = events.some((e) => e.event === 'bandColumn');
    if (lost > 0 || !(peeled || banded)) {
      const small = this.samples.some((e) => e.steps.some((s) => s.kind === 'bit'));
      const few = 'For so few keys this family is stored as a small Bloom filter. Add some to see how it is solved.';
      this.player.load([{ text: small ? few : `Built from ${count(keys.length)} keys.` }]);
      return;
    }
    const script = peeled
      ? peelScript(events, keys, this.filter, this.stage)
      : bandScript(events, keys, this.filter, this.stage, this.band);
    this.stage.show(this.stage.groups, new Uint8Array(payload.length));
    this.player.load(settle(script, this.stage, payload), {
      speed: script.length > 2000 ? 600 : script.length > 200 ? 60 : 10,
    });
  }

  /* fresh: n generated keys that are not among those. */
  fresh(n, among = this.ledger.history.map((entry) => entry.key)) {
    const have = new Set(among);
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
    const room = MOST_KEYS - this.ledger.history.length;
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
        const { events } = this.engine.record(() => this.filter.add(key), 256);
        added.push({ key, events });
        this.ledger.add(key, events, this.traits.expire ? this.filter.explain(key) : { ngroups: 1 });
      }
    } catch (error) {
      if (error.statusName !== 'EFULL') throw error;
      this.notices.say(
        `The filter is full and refuses more keys. ${count(this.keys.length)} are in, and it still answers for those.`,
        true,
      );
    }
    this.playChanges(() => addLines(added, this.stage), {
      grown: added.some(({ events }) => grew(events)),
      speed: keys.length > 300 ? 600 : keys.length > 30 ? 60 : 10,
    });
    announce(`${count(added.length)} keys added.`);
  }

  empty() {
    this.mine = [];
    this.wanted = [];
    this.ticks = [];
    this.asked = null;
    this.remake();
  }

  removeLast() {
    const { keys } = this;
    if (keys.length === 0) throw new UserError('There is no key to remove.');
    const key = keys[keys.length - 1];
    this.player.finish();
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    this.asked = null;
    const { events } = this.engine.record(() => this.filter.remove(key));
    this.ledger.remove(key);
    const i = this.mine.lastIndexOf(key);
    if (i >= 0 && this.ledger.statusOf(key) !== 'in') this.mine.splice(i, 1);
    this.playChanges(() => addScript(key, this.filter.explain(key), events, this.stage, 'out'));
    announce(`Removed ${shorten(key)}.`);
  }

  /* tick: the clock of a window goes on. */
  tick() {
    this.player.finish();
    this.answer.replaceChildren();
    this.blamed.replaceChildren();
    this.asked = null;
    const events = this.pass(this.filter, this.ledger);
    this.playChanges(() => tickScript(this.ledger.ticks.length, events, this.stage));
    announce(`Tick ${this.ledger.ticks.length} of the clock. ${count(this.ledger.expired().length)} keys have expired.`);
  }

  /* because: what the page knows of a key, beside what the filter says. */
  because(key, maybe) {
    const status = this.ledger.statusOf(key);
    if (maybe)
      return {
        in: 'It was added, and a key that is in is never a nay.',
        removed: 'It was added and removed again: now it is a false positive.',
        expired: 'It was added and has expired: now it is a false positive.',
        never: 'It was never added: a false positive.',
      }[status];
    return {
      in: 'But it was added: a false nay, which must never be. Please report this.',
      removed: 'It was added, and removed again.',
      expired: 'It was added, and has expired.',
      never: this.traits.remove || this.traits.expire ? 'It is certainly not in.' : 'It was certainly never added.',
    }[status];
  }

  /* ask: the answer at once, then the steps to it, and for a false positive who is to blame. */
  async ask(text) {
    const key = this.check(text);
    const why = this.filter.explain(key);
    this.player.finish();
    this.asked = key;
    this.askInput.value = key.length > 10000 ? '' : key;
    const about = aboutOf(this.traits, why, this.ledger.newest);
    const reason = `: ${verdict(about, why)}. ${this.because(key, why.maybe)}`;
    this.answer.replaceChildren(answerLine(why.maybe, h('b', null, shorten(key)), reason));
    announce(this.answer.textContent);
    if (this.blamed.contains(document.activeElement)) this.askInput.focus(); /* the chip with the focus goes */
    this.blamed.replaceChildren();
    this.player.load(askScript(about, key, why));
    this.changed();
    if (why.maybe && this.ledger.statusOf(key) !== 'in') await this.explainFalsePositive(key, why);
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
    const verb = { bit: 'set by', slot: 'also read by', fingerprint: 'put there for' }[steps[0].kind];
    const rows = steps.map((s) => [this.nameOf(s), this.blamedKeys(blame.of(s.bit))]);
    const caption = {
      bit: 'A false positive, explained: which keys set its bits',
      slot: 'A false positive, explained: its slots, and the keys that read them too',
      fingerprint: 'A false positive, explained: whose fingerprint it found',
    }[steps[0].kind];
    this.blamed.replaceChildren(table({ label: caption, caption, head: ['it found', verb], rows, className: 'blame' }));
  }

  /* nameOf: what a step read, as the picture shows it. */
  nameOf(step) {
    if (step.kind === 'bit') return `bit ${inArray(step) ? arrayBit(step) : step.bit - step.unitBit}`;
    return step.kind === 'fingerprint' ? `the fingerprint in ${slotName(step)}` : slotName(step);
  }

  blamedKeys(keys) {
    if (keys.length === 0) return ['no key that is in'];
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

/* grew: whether the filter is laid out anew after these events. */
function grew(events) {
  return events.some((e) => e.event === 'levelOpened' || e.event === 'cuckooDoubled');
}

export const work = {
  id: 'work',
  title: 'See it work',
  heading: 'See a filter think',
  lead: 'Add keys, ask for others. The library itself records each step: what it reads, what it changes, why it answers nay or maybe.',
  mount: (context, params) => new Work(context, params),
};
