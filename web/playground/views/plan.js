/*
 * plan.js - the planner: every family for the reader's numbers, computed by nay_params_plan, with
 * what the memory costs for a month at a price the reader types.
 */
import { h, announce, figure, Notices, explainError } from '../dom.js';
import { NumberField, Choice, applyParams } from '../field.js';
import { FAMILIES, ABILITIES, OTHERS } from '../families.js';
import { cols, note, panel, rule, stack, table } from '../parts.js';
import { bytes, count, money, percent } from '../number.js';

const GIB = 1024 ** 3;

class Plan {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.makeFields();
    this.fixed = h('input', { type: 'checkbox', onchange: () => this.update() });
    this.out = h('div', { class: 'stack' });
    applyParams(params, this.fields());
    const need = (params.get('need') ?? '').split(',');
    for (const item of this.needs) item.input.checked = need.includes(item.trait);
    this.fixed.checked = need.includes('static');
    const known = ['', 'static', ...this.needs.map((item) => item.trait)];
    const unknown = need.find((name) => !known.includes(name));
    if (unknown !== undefined)
      this.notices.say(`The link needs '${unknown.slice(0, 20)}': no family is known by that.`, true);
    const check = (input, label) => h('label', { class: 'check' }, input, label);
    const size = panel(
      this.n.element,
      this.by.element,
      this.fpr.element,
      this.bits.element,
      this.memory.element,
    );
    const rest = panel(
      h(
        'fieldset',
        null,
        h('legend', null, 'The filter must'),
        this.needs.map((i) => check(i.input, i.label)),
        check(this.fixed, 'be built once: all keys are known before'),
      ),
      rule(),
      this.price.element,
      this.copies.element,
    );
    rest.classList.add('later');
    this.element = h('div', null, this.notices.element, cols(stack(size, rest), this.out));
    this.update();
  }

  makeFields() {
    const redo = () => this.update();
    this.n = new NumberField({
      label: 'Keys',
      value: 1e8,
      min: 1,
      max: 1e13,
      log: true,
      whole: true,
      show: count,
      onchange: redo,
    });
    this.by = new Choice({
      label: 'Sized by',
      value: 'fpr',
      onchange: redo,
      options: [
        { value: 'fpr', label: 'FPR' },
        { value: 'bits', label: 'bits per key' },
        { value: 'memory', label: 'memory' },
      ],
    });
    this.fpr = new NumberField({
      label: 'False-positive rate (FPR)',
      value: 0.01,
      min: 1e-9,
      max: 0.5,
      log: true,
      show: percent,
      onchange: redo,
    });
    this.bits = new NumberField({ label: 'Bits per key', value: 10, min: 1, max: 64, show: String, onchange: redo });
    this.memory = new NumberField({
      label: 'Memory for the filter',
      value: 128 * 1024 ** 2,
      min: 1024,
      max: 1024 ** 5,
      log: true,
      whole: true,
      show: bytes,
      onchange: redo,
    });
    this.price = new NumberField({
      label: 'Price of a GiB of memory for a month',
      value: 3,
      min: 0,
      max: 1e6,
      slider: false,
      show: String,
      onchange: redo,
      hint: 'In any currency. Rented memory often costs 2 to 5 a GiB.',
    });
    this.copies = new NumberField({
      label: 'Copies (replicas, shards)',
      value: 3,
      min: 1,
      max: 1e5,
      whole: true,
      slider: false,
      show: count,
      onchange: redo,
    });
    this.needs = ABILITIES.filter((a) => a.trait !== 'add').map(({ trait, label }) => ({
      trait,
      label,
      input: h('input', { type: 'checkbox', onchange: redo }),
    }));
  }

  fields() {
    return {
      n: this.n,
      by: this.by,
      fpr: this.fpr,
      bits: this.bits,
      memory: this.memory,
      price: this.price,
      copies: this.copies,
    };
  }

  need() {
    return this.needs
      .filter((i) => i.input.checked)
      .map((i) => i.trait)
      .concat(this.fixed.checked ? ['static'] : []);
  }

  state() {
    const sized = {
      fpr: { fpr: this.fpr.value },
      bits: { bits: this.bits.value },
      memory: { memory: this.memory.value },
    }[this.by.value];
    return {
      n: this.n.value,
      by: this.by.value,
      ...sized,
      need: this.need().join(','),
      price: this.price.value,
      copies: this.copies.value,
    };
  }

  wanted(kind) {
    const params = { kind, nkeys: this.n.value };
    if (this.by.value === 'fpr') params.fpr = this.fpr.value;
    else if (this.by.value === 'bits') params.bitsPerKey = this.bits.value;
    else params.nbytes = this.memory.value;
    return params;
  }

  /* row: the plan of a family, or why there is none. */
  row(family) {
    const row = { family, kind: family.name };
    try {
      row.plan = this.engine.plan(this.wanted(family.name));
    } catch (error) {
      row.refused = error.statusName ? error.message : explainError(error);
    }
    const lacks = this.need().filter((t) => t !== 'static' && !family.traits[t]);
    if (!family.traits.add && !this.fixed.checked) lacks.unshift('add');
    row.lacks = lacks;
    row.fits = row.plan !== undefined && lacks.length === 0;
    return row;
  }

  update() {
    for (const [name, field] of [
      ['fpr', this.fpr],
      ['bits', this.bits],
      ['memory', this.memory],
    ])
      field.element.hidden = this.by.value !== name;
    const rows = this.engine.kinds.map((f) => this.row(f));
    const bySize = this.by.value === 'fpr';
    const better = (a, b) => (bySize ? a.plan.nbytes - b.plan.nbytes : a.plan.fpr - b.plan.fpr);
    const best = rows.filter((r) => r.fits).sort(better)[0] ?? null;
    this.out.replaceChildren(this.verdict(best), this.bars(rows, best), this.table(rows, best));
    announce(best ? `${best.kind}: ${bytes(best.plan.nbytes)}, FPR ${percent(best.plan.fpr)}` : 'No family fits');
    this.changed();
  }

  cost(plan) {
    return (plan.nbytes / GIB) * this.price.value * this.copies.value;
  }

  verdict(best) {
    if (!best)
      return h(
        'div',
        { class: 'panel' },
        h('h3', null, 'No family can do all of that.'),
        h('p', { class: 'note' }, 'The table says what each one lacks.'),
      );
    const { plan } = best;
    return h(
      'div',
      { class: 'panel' },
      h('h3', null, `${best.kind}, ${bytes(plan.nbytes)}`),
      h('p', { class: 'note' }, FAMILIES[best.kind]?.line ?? ''),
      h(
        'dl',
        { class: 'figures', style: 'margin-top: 14px' },
        figure('Bits per key', plan.bitsPerKey.toFixed(2)),
        figure('FPR', percent(plan.fpr), `one in ${count(1 / plan.fpr)}`),
        figure(
          'Each month',
          money(this.cost(plan)),
          this.copies.value > 1 ? `for ${count(this.copies.value)} copies` : null,
        ),
        figure(
          'A list of 16-byte keys',
          bytes(16 * this.n.value),
          `${count((16 * this.n.value) / plan.nbytes)} times as much`,
        ),
      ),
    );
  }

  bars(rows, best) {
    const bySize = this.by.value === 'fpr';
    const shown = rows.filter((r) => r.plan);
    if (shown.length === 0) return h('div');
    const value = (r) => (bySize ? r.plan.bitsPerKey : -Math.log2(r.plan.fpr));
    const top = Math.max(...shown.map(value), 1e-9);
    return h(
      'div',
      { class: 'panel' },
      h('h3', null, bySize ? 'Bits per key' : 'How rare a false positive is, in powers of two'),
      h(
        'div',
        { class: 'planbars' },
        shown.map((r) =>
          h(
            'div',
            { class: r === best ? 'planbar best' : r.fits ? 'planbar' : 'planbar out' },
            h('span', null, r.kind),
            h('div', { class: 'bar', 'aria-hidden': 'true' }, h('i', { style: `width: ${(100 * value(r)) / top}%` })),
            h('span', { class: 'num' }, bySize ? r.plan.bitsPerKey.toFixed(2) : percent(r.plan.fpr)),
            r === best ? h('em', null, 'best fit') : h('em', null),
          ),
        ),
      ),
    );
  }

  table(rows, best) {
    const mark = (text, name) => [h('span', { 'aria-hidden': 'true' }, text), h('span', { class: 'hidden' }, name)];
    const can = (yes) => h('td', { class: yes ? 'yes' : 'no' }, yes ? mark('\u2713', 'yes') : mark('\u2013', 'no'));
    const number = (text) => h('td', { class: 'num' }, text);
    const line = (row) => {
      const { plan } = row;
      return h(
        'tr',
        { class: row === best ? 'best' : row.fits ? null : 'out' },
        h('th', { scope: 'row' }, row.kind),
        plan
          ? [plan.bitsPerKey.toFixed(2), bytes(plan.nbytes), percent(plan.fpr), money(this.cost(plan))].map(number)
          : h('td', { colspan: 4 }, `not possible: ${row.refused}`),
        ABILITIES.map((a) => can(row.family.traits[a.trait])),
        h('td', null, row === best ? 'best' : row.fits ? 'yes' : 'no'),
      );
    };
    const abilities = ABILITIES.map((a) => a.label);
    return panel(
      table({
        label: 'All families, as a table',
        caption: `Every family for ${count(this.n.value)} keys. FPRs are exact; sizes are payloads.`,
        head: ['family', '#bits/key', '#memory', '#FPR', '#a month', ...abilities, 'fit'],
        className: 'tight',
        rows: rows.map(line),
      }),
      note(OTHERS),
    );
  }

  close() {}
}

export const plan = {
  id: 'plan',
  title: 'Plan',
  heading: 'Which filter, and what does it cost?',
  lead: 'Say what you have. Every family answers with its size, its exact false-positive rate and its price.',
  mount: (context, params) => new Plan(context, params),
};
