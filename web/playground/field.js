/*
 * field.js - form fields: a label, an input, and a message in place when the input cannot be used.
 * A field holds its last good value, so that a view always has something to draw.
 */
import { h, uid } from './dom.js';
import { parseNumber } from './number.js';

const STEPS = 1000; /* positions of a slider */

/*
 * NumberField: a text field and a slider for one number. The slider runs over the logarithm when
 * `log` is set. `show` writes a number as the text field has it, `onchange` gets each new value.
 */
export class NumberField {
  constructor({
    label,
    value,
    min,
    max,
    log = false,
    whole = false,
    show = String,
    slider = true,
    step = null,
    hint = null,
    onchange,
  }) {
    this.spec = { min, max, whole, show };
    this.log = log;
    this.value = value;
    this.step = step;
    this.onchange = onchange;
    const id = uid('number');
    this.text = h('input', {
      type: 'text',
      id,
      inputmode: 'decimal',
      autocomplete: 'off',
      spellcheck: 'false',
      'aria-describedby': `${id}-why`,
      onchange: () => this.accept(this.text.value),
      onkeydown: (e) => {
        if (e.key === 'Enter') this.accept(this.text.value);
      },
    });
    this.range = slider
      ? h('input', {
          type: 'range',
          min: 0,
          max: STEPS,
          'aria-label': `${label}, slider`,
          'data-of': label,
          oninput: () => this.slide(),
          onkeydown: (e) => this.press(e),
        })
      : null;
    this.why = h('p', { class: 'why', id: `${id}-why`, 'aria-live': 'polite' });
    this.element = h(
      'div',
      { class: 'field' },
      h('label', { for: id }, label),
      h('div', { class: 'pair' }, this.text, this.range),
      hint ? h('p', { class: 'note' }, hint) : null,
      this.why,
    );
    this.show();
  }

  show() {
    this.text.value = this.spec.show(this.value);
    if (!this.range) return;
    if (!this.sliding) this.range.value = Math.round(STEPS * this.toPosition(this.value));
    this.range.setAttribute('aria-valuetext', this.spec.show(this.value));
  }

  toPosition(value) {
    const { min, max } = this.spec;
    if (this.log) return (Math.log(value) - Math.log(min)) / (Math.log(max) - Math.log(min));
    return (value - min) / (max - min);
  }

  /* valueAt: the value at a position of the slider, rounded as people would. */
  valueAt(position) {
    const { min, max, whole } = this.spec;
    const t = position / STEPS;
    let value = this.log ? Math.exp(Math.log(min) + t * (Math.log(max) - Math.log(min))) : min + t * (max - min);
    if (this.step) value = Math.round(value / this.step) * this.step;
    value = Number(value.toPrecision(this.log ? 2 : 4));
    if (whole) value = Math.round(value);
    return Math.min(max, Math.max(min, value));
  }

  /* slide: to where the slider was dragged; the knob stays there. */
  slide() {
    this.sliding = true;
    this.accept(String(this.valueAt(Number(this.range.value))));
    this.sliding = false;
  }

  /* press: an arrow key takes the next value there is, Page Up and Page Down ten positions in a hundred. */
  press(event) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: STEPS / 10, PageDown: -STEPS / 10 }[event.key];
    const end = { Home: 0, End: STEPS }[event.key];
    if (by === undefined && end === undefined) return;
    event.preventDefault();
    if (end !== undefined) {
      this.accept(String(this.valueAt(end)));
      return;
    }
    const from = STEPS * this.toPosition(this.value);
    let at = by > 0 ? Math.floor(from) + by : Math.ceil(from) + by;
    const further = (value) => (by > 0 ? value > this.value : value < this.value);
    while (at > 0 && at < STEPS && !further(this.valueAt(at))) at += Math.sign(by);
    const value = this.valueAt(Math.max(0, Math.min(STEPS, at)));
    if (further(value)) this.accept(String(value));
  }

  /* accept: takes a text if it is a number in range; else says why not and keeps the value. */
  accept(text, quiet = false) {
    const { value, error } = parseNumber(text, this.spec);
    this.complain(error);
    if (error) {
      this.text.value = String(text).slice(0, 60);
      return false;
    }
    const changed = value !== this.value;
    this.value = value;
    this.show();
    if (changed && !quiet && this.onchange) this.onchange(value);
    return true;
  }

  /* complain: shows a message in place, or removes it. */
  complain(error) {
    this.why.textContent = error ?? '';
    if (error) this.text.setAttribute('aria-invalid', 'true');
    else this.text.removeAttribute('aria-invalid');
  }
}

/* Choice: one of a few, as a row of radio buttons. options: [{value, label, disabled, title}]. */
export class Choice {
  constructor({ label, options, value, onchange }) {
    this.options = options;
    this.value = value;
    const name = uid('choice');
    this.inputs = options.map((o) =>
      h('input', {
        type: 'radio',
        name,
        value: o.value,
        checked: o.value === value,
        disabled: o.disabled ?? false,
        onchange: () => {
          this.value = o.value;
          this.complain(null);
          if (onchange) onchange(o.value);
        },
      }),
    );
    this.why = h('p', { class: 'why', 'aria-live': 'polite' });
    this.element = h(
      'fieldset',
      { class: 'field' },
      h('legend', null, label),
      h(
        'div',
        { class: 'seg' },
        options.map((o, i) => h('label', { title: o.title }, this.inputs[i], h('span', null, o.label))),
      ),
      this.why,
    );
  }

  complain(text) {
    this.why.textContent = text ?? '';
  }

  /* allow: whether an option can be chosen. */
  allow(value, yes) {
    const i = this.options.findIndex((o) => o.value === value);
    this.inputs[i].disabled = !yes;
    this.inputs[i].parentElement.hidden = !yes;
  }

  /* set: by program; a value that is no option is refused with a message. */
  set(value) {
    const i = this.options.findIndex((o) => o.value === value && !o.disabled);
    if (i < 0) {
      this.complain(`\u201c${String(value).slice(0, 30)}\u201d is no choice here.`);
      return false;
    }
    this.value = value;
    this.inputs[i].checked = true;
    return true;
  }
}

/* applyParams: values of a permalink into fields, by name. What is wrong is said at its field. */
export function applyParams(params, fields) {
  for (const [name, field] of Object.entries(fields)) {
    if (!params.has(name)) continue;
    if (field instanceof NumberField) field.accept(params.get(name), true);
    else field.set(params.get(name));
  }
}

/* values: of fields by name; restore: puts them back, for a plan that the library refused. */
export function values(fields) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
}

function restore(fields, saved) {
  for (const [name, field] of Object.entries(fields)) {
    if (field instanceof NumberField) field.accept(String(saved[name]), true);
    else field.set(saved[name]);
  }
}

/* attempt: makes something of the fields; when that fails they go back to what was made last. */
export function attempt(view, fields, make) {
  try {
    const made = make();
    view.good = values(fields);
    return made;
  } catch (error) {
    if (view.good) restore(fields, view.good);
    throw error;
  }
}
