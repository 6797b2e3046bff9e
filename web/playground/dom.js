/*
 * dom.js - elements, messages and announcements: what every view is made of.
 */

/* h: an HTML element. Props that start with "on" are listeners; null and false children are left out. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/* svg: the same in the namespace of SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.setAttribute('class', value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

let nextId = 0;
/* uid: an id for labels and descriptions. */
export function uid(stem) {
  nextId += 1;
  return `${stem}-${nextId}`;
}

/* announce: one line for screen readers, politely. */
export function announce(text) {
  const live = document.getElementById('live');
  live.textContent = '';
  live.textContent = text;
}

/* Notices: the place for messages at the head of a view. A message replaces the one before it. */
export class Notices {
  constructor() {
    this.element = h('div', { role: 'alert' });
  }

  say(text, bad = false) {
    const close = h('button', { type: 'button', class: 'quiet', onclick: () => this.clear() }, 'Dismiss');
    this.element.replaceChildren(h('div', { class: bad ? 'notice bad' : 'notice' }, h('p', null, text), close));
  }

  clear() {
    this.element.replaceChildren();
  }

  /* guard: runs a handler; what it throws becomes a message in place, and the page goes on. */
  guard(handler) {
    return async (...args) => {
      try {
        await handler(...args);
      } catch (error) {
        this.fail(error);
      }
    };
  }

  fail(error) {
    this.say(explainError(error), true);
    if (!(error && error.statusName) && !(error instanceof UserError)) console.warn(error);
  }
}

/* UserError: what the page itself refuses; the message is for people. */
export class UserError extends Error {}

/* explainError: one line for people from whatever was thrown. */
export function explainError(error) {
  if (error instanceof UserError) return error.message;
  if (error && error.statusName === 'ENOMEM') {
    return 'Out of memory: the library may use 1 GiB in this page. Everything is as it was before.';
  }
  if (error && error.statusName) {
    const where = error.offset > 0 ? `, at byte ${error.offset}` : '';
    return `The library refuses: ${error.message}${where} (NAY_${error.statusName}).`;
  }
  if (error instanceof RangeError) return 'That is more than this browser can hold. Everything is as it was before.';
  return `That did not work: ${error && error.message ? error.message : error}`;
}

/* sentence: with a capital. */
export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/* shorten: a key as text for people: control characters shown, long ones cut. */
export function shorten(key, limit = 40) {
  let text = '';
  for (const c of key.slice(0, limit + 1)) {
    const code = c.codePointAt(0);
    if (code < 32) text += String.fromCodePoint(0x2400 + code);
    else if (code === 127) text += '\u2421';
    else text += c;
  }
  if (key.length <= limit) return text === '' ? '(empty key)' : text;
  return `${text.slice(0, limit)}\u2026 (${key.length.toLocaleString('en')} characters)`;
}

/* figure: a term and its number, for a description list. */
export function figure(term, value, small = null) {
  return h('div', null, h('dt', null, term), h('dd', null, value, small ? h('small', null, small) : null));
}

/* download: bytes as a file of the reader's machine. */
export function download(name, bytes) {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = h('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
