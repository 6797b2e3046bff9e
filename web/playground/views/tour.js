/*
 * tour.js - the first view: what a filter is, in nine steps of one idea each, from the question that it answers to the
 * choice of its size. The filter is real and so small that every bit can be seen: each step makes it anew, does what
 * the step says, and draws what the library recorded. A step is a link, and can be left at any time.
 */
import { h, announce, shorten, Notices, UserError } from '../dom.js';
import { Blame } from '../blame.js';
import { NumberField } from '../field.js';
import { EXAMPLES, absentLines, keyAt } from '../keys.js';
import { Ledger } from '../ledger.js';
import { linesPicture } from '../lines.js';
import { answerLine, button, keyInput, note, oneLine, row, table } from '../parts.js';
import { bytes, count, percent } from '../number.js';
import { readBits } from '../stage.js';

const BITS = 32;
const PROBES = 3;
const KEYS = ['apple', 'pear', 'plum'];
const ASKED = 20000; /* absent keys by which a rate is measured */
const LONGEST = 60; /* characters of a key in the picture of a step */

const p = (...text) => h('p', null, ...text);
const b = (text) => h('b', null, text);

class Tour {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.go = context.go;
    this.notices = new Notices();
    const step = Number(params.get('step') ?? 1);
    this.at = Number.isInteger(step) && step >= 1 && step <= STEPS.length ? step - 1 : 0;
    if (params.has('step') && this.at !== step - 1)
      this.notices.say(`There is no such step: there are ${STEPS.length}.`, true);
    this.key = KEYS[0];
    this.fill = new NumberField({
      label: 'Keys in the filter',
      value: 4,
      min: 0,
      max: 40,
      whole: true,
      onchange: () => this.draw(true),
    });
    this.bits = new NumberField({
      label: 'Bits per key',
      value: 8,
      min: 2,
      max: 20,
      whole: true,
      onchange: () => this.draw(true),
    });
    if (params.has('fill')) this.fill.accept(params.get('fill'), true);
    if (params.has('bits')) this.bits.accept(params.get('bits'), true);
    if ((params.get('key') ?? '') !== '') this.key = params.get('key').slice(0, LONGEST);
    this.build();
  }

  build() {
    this.heading = h('h3', { tabindex: -1 });
    this.body = h('div', { class: 'say' });
    this.picture = h('div', { class: 'tourpicture' });
    this.below = h('div', { class: 'stack' });
    this.back = button('\u2039 Back', () => this.move(this.at - 1));
    this.next = button('Next \u203a', () => this.move(this.at + 1), 'main');
    this.where = h('span', { class: 'note', 'aria-hidden': 'true' });
    this.list = h(
      'ol',
      { class: 'dots', 'aria-label': 'Steps' },
      STEPS.map((step, i) => h('li', null, h('button', { type: 'button', title: step.title, 'aria-label': `Step ${i + 1}: ${step.title}`, onclick: () => this.move(i) }))),
    );
    this.element = h(
      'div',
      { class: 'tour' },
      this.notices.element,
      h(
        'div',
        { class: 'panel stack' },
        this.heading,
        this.body,
        this.picture,
        this.below,
        h('div', { class: 'row tournav' }, this.back, this.list, this.where, this.next),
      ),
    );
    this.again = () => this.draw();
    addEventListener('resize', this.again);
  }

  shown() {
    this.notices.guard(() => this.draw())();
  }

  resume() {
    this.draw();
  }

  close() {
    removeEventListener('resize', this.again);
    this.filter?.free();
  }

  state() {
    const { uses } = STEPS[this.at];
    return {
      step: this.at + 1,
      key: this.key === KEYS[0] ? null : this.key,
      fill: uses === 'fill' ? this.fill.value : null,
      bits: uses === 'bits' ? this.bits.value : null,
    };
  }

  move(to) {
    if (to < 0 || to >= STEPS.length) return;
    this.at = to;
    this.notices.guard(() => this.draw())();
    this.heading.focus({ preventScroll: true });
    this.element.querySelector('.panel').scrollIntoView?.({ block: 'nearest' });
  }

  /* made: a filter of these keys; its ledger and its first bit. */
  made(keys, params = { kind: 'bloom', nkeys: 4, nbits: BITS, k: PROBES }) {
    this.filter?.free();
    this.filter = this.engine.create(params);
    this.ledger = new Ledger();
    for (const key of keys) {
      const { events } = this.engine.record(() => this.filter.add(key));
      this.ledger.add(key, events, { ngroups: 1 });
    }
    const why = this.filter.explain('');
    this.base = why.steps[0].unitBit;
    this.nbits = this.filter.params().nbits;
    return this.filter;
  }

  keys() {
    return [this.key, ...KEYS.filter((k) => k !== this.key)].slice(0, KEYS.length);
  }

  /* draw: the step; with `moved` only what a slider of it changes, so that the slider keeps the focus. */
  draw(moved = false) {
    if (!this.element.isConnected) return;
    const step = STEPS[this.at];
    const { say, show, below } = step.make(this);
    if (!moved) {
      this.heading.textContent = step.title;
      this.body.replaceChildren(...say);
    }
    this.below.replaceChildren(...(below ?? []));
    this.picture.replaceChildren(show ? this.lines(show) : '');
    this.back.disabled = this.at === 0;
    this.where.textContent = `${this.at + 1} of ${STEPS.length}`;
    this.next.hidden = this.at === STEPS.length - 1;
    for (const [i, li] of [...this.list.children].entries()) {
      li.firstChild.toggleAttribute('aria-current', false);
      if (i === this.at) li.firstChild.setAttribute('aria-current', 'step');
    }
    announce(moved ? this.below.textContent : `Step ${this.at + 1} of ${STEPS.length}: ${step.title}`);
    this.changed();
  }

  lines(show) {
    this.asked = show.key;
    const width = Math.max(240, Math.min(820, this.body.clientWidth || 600, this.element.clientWidth || 600));
    return linesPicture({ payload: this.filter.payload(), base: this.base, nbits: this.nbits, width, ...show });
  }

  positions(why) {
    return why.steps.map((s) => s.bit - this.base);
  }

  /* absent: the first word that was not added and for which the filter says what is wanted. */
  absent(maybe) {
    const candidates = ['moon', 'cherry', ...EXAMPLES];
    for (let i = 0; i < 5000; i += 1) {
      const key = i < candidates.length ? candidates[i] : keyAt('words', i);
      if (this.ledger.statusOf(key) === 'never' && this.filter.has(key) === maybe) return key;
    }
    throw new UserError('No such key was found: take another first key.');
  }

  /* tell: the answer for a key of the reader's, in the picture of the step. */
  tell(key) {
    const why = this.filter.explain(key);
    const zero = why.steps.find((s) => s.found === 0n);
    const isIn = this.ledger.statusOf(key) === 'in';
    const text = zero
      ? `: bit ${zero.bit - this.base} is 0, so it was certainly never added.`
      : `: bits ${list(this.positions(why))} are all 1. ${isIn ? 'It was added.' : 'It was never added: a false positive.'}`;
    this.body.replaceChildren(answerLine(why.maybe, h('b', null, shorten(key, 24)), text), note(isIn ? '' : 'Try others, or go on.'));
    this.picture.replaceChildren(this.lines({ why, key }));
    announce(this.body.textContent);
  }

  /* own: a field in which the reader can put a key of their own. */
  own(label, act) {
    const input = keyInput(label, 'a key of your own');
    return oneLine(input, 'Try it', this.notices.guard((key) => {
      if (key === '') throw new UserError('Type a key first.');
      this.notices.clear();
      act(key.slice(0, LONGEST));
    }));
  }
}

const list = (numbers) => (numbers.length < 2 ? numbers.join('') : `${numbers.slice(0, -1).join(', ')} and ${numbers[numbers.length - 1]}`);

const STEPS = [
  {
    title: 'Have I seen this before?',
    make(tour) {
      tour.made([]);
      return {
        say: [
          p('A mail, a web page, a password: programs often ask whether they have met something before. Each such thing is a ', b('key'), '. Keeping all keys answers exactly, and takes memory for every one.'),
          p('A ', b('membership filter'), ' keeps only some bits, and has two answers. ', b('Nay'), ': the key was certainly never added. ', b('Maybe'), `: it may have been. Here is one of ${BITS} bits. It is empty: every bit is 0.`),
        ],
        show: {},
      };
    },
  },
  {
    title: 'A key becomes a few positions',
    make(tour) {
      tour.made([]);
      const why = tour.filter.explain(tour.key);
      return {
        say: [
          p('A hash function turns a key into a number that looks random. It is the same number each time, and another one if a letter changes.'),
          p('From ', b(BigInt(why.hash).toString(16).padStart(16, '0')), ` the library computes ${PROBES} positions: `, b(`bits ${list(tour.positions(why))}`), '. They belong to ', b(shorten(tour.key, 24)), '.'),
        ],
        show: { why, key: tour.key, word: 'chooses' },
        below: [tour.own('A key to hash', (key) => {
          tour.key = key;
          tour.draw();
        })],
      };
    },
  },
  {
    title: 'Adding a key sets its bits',
    make(tour) {
      tour.made(tour.keys().slice(0, 2));
      const last = tour.keys()[2];
      const { events } = tour.engine.record(() => tour.filter.add(last));
      tour.ledger.add(last, events, { ngroups: 1 });
      const fresh = events.filter((e) => e.fresh).length;
      const why = tour.filter.explain(last);
      return {
        say: [
          p(b(list(tour.keys().map((k) => shorten(k, 24)))), ` are in now. The last one has bits ${list(tour.positions(why))}: `, fresh === PROBES ? 'all of them were 0 before.' : `${PROBES - fresh} of them ${PROBES - fresh === 1 ? 'was' : 'were'} 1 already, because keys share bits.`),
          p('The keys themselves are not stored. And no bit ever becomes 0 again.'),
        ],
        show: { why, key: last, word: 'sets' },
      };
    },
  },
  {
    title: 'Asking for a key that is in',
    make(tour) {
      tour.made(tour.keys());
      const key = tour.keys()[0];
      const why = tour.filter.explain(key);
      return {
        say: [
          answerLine(why.maybe, h('b', null, shorten(key, 24)), `: bits ${list(tour.positions(why))} are all 1.`),
          p('Adding the key set these bits, and they stay 1. So the filter never says nay to a key that is in: there are no false negatives.'),
        ],
        show: { why, key },
      };
    },
  },
  {
    title: 'Why nay is certain',
    make(tour) {
      tour.made(tour.keys());
      const key = tour.absent(false);
      const why = tour.filter.explain(key);
      const zero = why.steps.find((s) => s.found === 0n).bit - tour.base;
      return {
        say: [
          answerLine(why.maybe, h('b', null, shorten(key, 24)), `: bit ${zero} is 0.`),
          p(`If ${shorten(key, 24)} had ever been added, bit ${zero} would be 1. One 0 is a proof, and nothing else has to be looked at.`),
        ],
        show: { why, key },
        below: [tour.own('A key to ask for', (own) => tour.tell(own))],
      };
    },
  },
  {
    title: 'Why maybe can be wrong',
    make(tour) {
      tour.made(tour.keys());
      const key = tour.absent(true);
      const why = tour.filter.explain(key);
      const blame = new Blame(tour.filter, tour.ledger).now();
      const rows = [...new Set(why.steps.map((s) => s.bit))].map((bit) => {
        const keys = blame.of(bit);
        const names = list(keys.map((k) => shorten(k, 24)));
        return h('tr', null, h('th', { scope: 'row' }, `bit ${bit - tour.base}`), h('td', { 'data-keys': keys.join('\n') }, names));
      });
      return {
        say: [
          answerLine(why.maybe, h('b', null, shorten(key, 24)), `: bits ${list(tour.positions(why))} are all 1. But it was never added.`),
          p('Other keys set them. That is a ', b('false positive'), ', and this is who did it:'),
          table({ label: 'Who set the bits', head: ['bit', 'set by'], rows, className: 'tight' }),
        ],
        show: { why, key },
      };
    },
  },
  {
    title: 'The fuller, the more often it is wrong',
    uses: 'fill',
    make(tour) {
      const keys = Array.from({ length: tour.fill.value }, (_, i) => keyAt('words', i));
      tour.made(keys);
      const s = tour.filter.stats();
      const measured = tour.filter.countMaybes(absentLines(ASKED)) / ASKED;
      const zeros = Array.from({ length: tour.nbits }, (_, i) => readBits(tour.filter.payload(), tour.base + i, 1)).filter((v) => v === 0).length;
      return {
        say: [
          p('Each key leaves fewer bits at 0, and only a 0 can say nay. Move the slider:'),
          tour.fill.element,
        ],
        show: {},
        below: [
          gauge(s.fprNow),
          p(`${count(tour.fill.value)} ${tour.fill.value === 1 ? 'key' : 'keys'} in ${BITS} bits: ${count(zeros)} bits are still 0. A key that was never added is a maybe with a chance of `, b(percent(s.fprNow)), `, the false-positive rate (FPR). Of ${count(ASKED)} such keys `, b(percent(measured)), ' were a maybe just now.'),
        ],
      };
    },
  },
  {
    title: 'You choose how wrong',
    uses: 'bits',
    make(tour) {
      const n = 4;
      const params = { kind: 'bloom', nkeys: n, bitsPerKey: tour.bits.value };
      const plan = tour.engine.plan({ ...params, nkeys: 1e6 });
      tour.made(tour.keys().concat('fig'), params);
      const key = tour.keys()[0];
      const why = tour.filter.explain(key);
      return {
        say: [
          p('More bits for each key, and fewer false positives. What the keys are does not matter, nor how long: only how many.'),
          tour.bits.element,
        ],
        show: { why, key },
        below: [
          gauge(plan.fpr),
          p(`A million keys with ${tour.bits.value} bits each: ${bytes(plan.nbytes)}, ${plan.k} positions for each key, the best number for that many bits, and an FPR of `, b(percent(plan.fpr)), `: of the keys that were never added one in ${count(1 / plan.fpr)} is a maybe. The picture has ${n} keys.`),
        ],
      };
    },
  },
  {
    title: 'Now break it',
    make(tour) {
      const to = (hash, title, text) => h('a', { class: 'card', href: hash }, h('b', null, title), h('span', null, text));
      return {
        say: [p('You know what a Bloom filter is. Its rules have edges, and each of these is one click away:')],
        below: [
          h(
            'div',
            { class: 'cards' },
            to('#work?kind=bloom&n=12&by=fpr&fpr=0.1&keys=apple%0Apear%0Aplum&ask=moon', 'Add keys until it lies', 'The same filter with your keys, step by step, in every family.'),
            to('#overfill?kind=bloom&n=100000&fpr=0.01&added=400000', 'Four times too many keys', 'What a planned 1% becomes when nobody stops adding.'),
            to('#overfill?experiment=remove', 'Remove what was never added', 'How a key that is in gets lost: a false nay, made on purpose.'),
            to('#inside?sample=leveldb&flip=900', 'Damage a byte', 'A file without a checksum, and one that refuses.'),
            to('#compare', 'Families side by side', 'The same keys in two or three filters: bits, cache lines, answers.'),
            to('#lsm', 'Where it saves reads', 'A lookup travels through a database.'),
          ),
          row(button('From the start', () => tour.move(0), 'quiet')),
        ],
      };
    },
  },
];

/* gauge: a rate between 0 and 1 as a bar, beside the bits. */
function gauge(fpr) {
  const share = Math.max(0, Math.min(100, 100 * fpr));
  return h(
    'div',
    { class: 'gauge' },
    h('span', { class: 'note' }, 'FPR'),
    h('div', { class: fpr > 0.5 ? 'bar over' : 'bar', 'aria-hidden': 'true' }, h('i', { style: `width: ${share}%` })),
    h('strong', null, percent(fpr)),
  );
}

export const tour = {
  id: 'start',
  title: 'Start here',
  heading: 'What is a membership filter?',
  lead: 'Nine small steps, two minutes. The library itself does what you see.',
  mount: (context, params) => new Tour(context, params),
};
