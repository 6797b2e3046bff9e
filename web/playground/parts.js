/*
 * parts.js - what views are laid out with: panels, rows, buttons, forms of one field, tables, a place
 * to drop a file.
 */
import { h } from './dom.js';

export const panel = (...children) => h('div', { class: 'panel stack' }, ...children);
export const stack = (...children) => h('div', { class: 'stack' }, ...children);
export const row = (...children) => h('div', { class: 'row' }, ...children);
export const cols = (left, right) => h('div', { class: 'cols' }, left, right);
export const pictureFirst = (left, right) => h('div', { class: 'cols wideleft' }, left, right);
export const note = (text) => h('p', { class: 'note' }, text);
export const title = (text) => h('h3', null, text);
export const rule = () => h('hr', { class: 'rule' });

/* button: class is "main", "quiet", "link", "chip" or nothing. */
export const button = (label, act, className = null) =>
  h('button', { type: 'button', class: className, onclick: act }, label);

/* keyInput: a field for a key, in which nothing is completed or corrected. */
export function keyInput(label, placeholder) {
  const off = { autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };
  return h('input', { type: 'text', 'aria-label': label, placeholder, ...off });
}

/* oneLine: a field and the button that acts on it; Enter does the same. */
export function oneLine(input, label, act) {
  const onsubmit = (e) => {
    e.preventDefault();
    act(input.value);
  };
  const submit = h('button', { type: 'submit', class: 'main' }, label);
  return h('form', { class: 'row', style: 'flex-wrap: nowrap', onsubmit }, input, submit);
}

/* answerLine: nay or maybe, and why. */
export function answerLine(maybe, ...text) {
  const word = maybe ? 'maybe' : 'nay';
  return h('p', { class: `answer ${word}`, 'data-answer': word }, h('strong', null, word), h('span', null, ...text));
}

/*
 * table: in a region that scrolls by itself and can be reached by keyboard. A heading that starts with
 * "#" is of numbers; a row is an array of cells, the first of which names it, or a tr.
 */
export function table({ label, caption = null, head, rows, className = null }) {
  const numeric = head.map((text) => text.startsWith('#'));
  const heading = (text, i) => h('th', { scope: 'col', class: numeric[i] ? 'num' : null }, text.replace(/^#/, ''));
  const cell = (content, i) =>
    i === 0 ? h('th', { scope: 'row' }, content) : h('td', { class: numeric[i] ? 'num' : null }, content);
  const line = (cells) => (Array.isArray(cells) ? h('tr', null, cells.map(cell)) : cells);
  const body = h('tbody', null, rows.map(line));
  const parts = [
    caption ? h('caption', null, caption) : null,
    h('thead', null, h('tr', null, head.map(heading))),
    body,
  ];
  const region = { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label };
  return h('div', region, h('table', { class: className }, parts));
}

/* FileDrop: a place for a file, dropped or chosen; `take` gets it. */
export class FileDrop {
  constructor({ label, text, take }) {
    const onchange = () => take(this.input.files[0]);
    this.input = h('input', { type: 'file', class: 'hidden', tabindex: -1, 'aria-label': label, onchange });
    const over = (on) => (e) => {
      e.preventDefault();
      this.element.classList.toggle('over', on);
    };
    const ondrop = (e) => {
      over(false)(e);
      take(e.dataTransfer?.files?.[0]);
    };
    this.element = h(
      'div',
      { class: 'drop', ondragover: over(true), ondragleave: over(false), ondrop },
      h('p', null, text),
      button('or choose one', () => this.choose(), 'link'),
      this.input,
    );
  }

  choose() {
    this.input.click();
  }
}
