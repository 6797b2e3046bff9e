/*
 * main.js - the page: starts the library, shows one view at a time, keeps the state in the URL.
 *
 * A view is {id, title, mount(context, params)}; mount returns {element, state(), close()}
 * and where it needs them {shown(), pause(), resume()}; state() is what a permalink holds. A view
 * lives until the reader opens another state of it.
 *
 * ?embed=view&name=value shows that view alone, for a frame in another page: its picture, question and
 * steps. It starts when it is seen, and touches neither the address nor the history.
 */
import { h, announce, explainError } from './dom.js';
import { readHash, writeHash, pushHash, replaceHash } from './route.js';
import { MOST, frameStats, resetFrames } from './frames.js';
import { startEngine } from './engine.js';
import { tour } from './views/tour.js';
import { work } from './views/work.js';
import { compare } from './views/compare.js';
import { overfill } from './views/overfill.js';
import { lsm } from './views/lsm.js';
import { plan } from './views/plan.js';
import { inside } from './views/inside.js';

const VIEWS = [tour, work, compare, overfill, lsm, plan, inside];
const query = new URLSearchParams(location.search);
const embedded = VIEWS.some((v) => v.id === query.get('embed')) ? query.get('embed') : null;
const open = new Map(); /* id of a view -> what its mount returned */
let engine = null;
let current = null;

function showTheme() {
  const root = document.documentElement;
  if (!root.dataset.theme) root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const other = root.dataset.theme === 'dark' ? 'light' : 'dark';
  const button = document.getElementById('theme');
  button.textContent = other === 'dark' ? '\u263e Dark' : '\u2600 Light';
  button.setAttribute('aria-label', `Use ${other} colours`);
}

function startTheme() {
  showTheme();
  let chosen = false;
  document.getElementById('theme').addEventListener('click', () => {
    const root = document.documentElement;
    chosen = true;
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem('nay-theme', root.dataset.theme);
    } catch {
      /* not kept, then */
    }
    showTheme();
    dispatchEvent(new Event('themechange'));
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (e) => {
    if (chosen) return;
    document.documentElement.dataset.theme = e.matches ? 'dark' : 'light';
    showTheme();
    dispatchEvent(new Event('themechange'));
  });
}

function makeTabs() {
  const tabs = VIEWS.map((view) =>
    h(
      'button',
      {
        role: 'tab',
        type: 'button',
        id: `tab-${view.id}`,
        'aria-controls': `view-${view.id}`,
        'aria-selected': 'false',
        tabindex: -1,
        onclick: () => visit(view.id),
      },
      view.title,
    ),
  );
  const list = document.getElementById('tabs');
  list.replaceChildren(...tabs);
  list.addEventListener('keydown', (e) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  });
  const panels = VIEWS.map((view) =>
    h('section', { role: 'tabpanel', id: `view-${view.id}`, 'aria-labelledby': `tab-${view.id}`, hidden: true }),
  );
  document.getElementById('main').replaceChildren(...panels);
}

/* visit: a view that the reader chose: the browser's Back leads to the one before. */
function visit(id) {
  if (id !== current) pushHash(`#${id}`);
  show(id, null);
}

/* reveal: scrolls the row of tabs, and nothing else: the page may be a frame of another. */
function reveal(tab) {
  const list = tab.parentElement;
  const over = tab.getBoundingClientRect().right - list.getBoundingClientRect().right;
  const under = list.getBoundingClientRect().left - tab.getBoundingClientRect().left;
  if (over > 0) list.scrollLeft += over;
  else if (under > 0) list.scrollLeft -= under;
}

/* show: opens a view; with params it starts from them, without it goes on as it was. */
function show(id, params) {
  const view = VIEWS.find((v) => v.id === id);
  const panel = document.getElementById(`view-${id}`);
  current = id;
  for (const v of VIEWS) {
    const selected = v.id === id;
    const tab = document.getElementById(`tab-${v.id}`);
    tab.setAttribute('aria-selected', String(selected));
    tab.tabIndex = selected ? 0 : -1;
    if (selected) reveal(tab);
    document.getElementById(`view-${v.id}`).hidden = !selected;
    if (!selected) open.get(v.id)?.pause?.();
  }
  if (params || !open.has(id)) mount(view, panel, params ?? new URLSearchParams());
  else open.get(id).resume?.();
  saveState(id);
  document.title = `${view.heading ?? view.title} \u00b7 nay playground`;
}

function mount(view, panel, params) {
  open.get(view.id)?.close();
  open.delete(view.id);
  const context = { engine, changed: () => saveState(view.id) };
  try {
    const live = view.mount(context, params);
    open.set(view.id, live);
    const heading = view.heading ?? view.title;
    const head = h('div', { class: 'head' }, h('h2', null, heading), h('p', { class: 'lead' }, view.lead));
    const quiet = [h('h1', { class: 'hidden' }, 'nay'), h('h2', { class: 'hidden' }, heading)];
    panel.replaceChildren(...(embedded ? quiet : [head]), live.element);
    live.shown?.();
  } catch (error) {
    panel.replaceChildren(h('p', { class: 'notice bad', role: 'alert' }, explainError(error)));
    console.warn(error);
  }
}

function saveState(id) {
  const live = open.get(id);
  if (embedded) showWhole();
  if (!live || id !== current || embedded) return;
  replaceHash(writeHash(id, live.state()).hash);
}

/* page: the address of this file, without what is asked of it. */
function page() {
  return location.href.replace(/[?#].*/, '');
}

/* showWhole: in a frame, the link that leads to the same state of the whole page. */
function showWhole() {
  const live = open.get(embedded);
  if (live) document.getElementById('whole').href = page() + writeHash(embedded, live.state()).hash;
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
    return true;
  } catch {
    return false;
  }
}

/* copyFrame: the element that puts this state into another page. */
async function copyFrame(id) {
  const { hash } = writeHash(id, open.get(id)?.state() ?? {});
  const rest = hash.includes('?') ? `&${hash.replace(/^[^?]*\?/, '')}` : '';
  const { title } = VIEWS.find((v) => v.id === id);
  const style = 'width: 100%; height: 640px; border: 0';
  const text = h('iframe', { src: `${page()}?embed=${id}${rest}`, title: `nay: ${title}`, loading: 'lazy', style }).outerHTML;
  const local = location.protocol === 'file:' ? ' Its address is of this disk: put the page beside yours, or on your server.' : '';
  if (!(await copy(text, `The frame is copied: paste it into your page.${local}`)))
    replaceHash(hash);
}

async function copyLink(id) {
  const { hash, whole } = writeHash(id, open.get(id)?.state() ?? {});
  const rest = whole ? '' : ' What was too long for a link is not in it.';
  if (!(await copy(page() + hash, `The link to this state is copied.${rest}`))) {
    replaceHash(hash);
    toast(`The link to this state is in the address bar.${rest}`);
  }
}

function toast(text) {
  announce(text);
  const box = h(
    'div',
    {
      class: 'tip',
      style: 'position: fixed; left: 50%; bottom: 24px; transform: translateX(-50%)',
      'aria-hidden': 'true',
    },
    text,
  );
  document.body.append(box);
  setTimeout(() => box.remove(), 2600);
}

function fromHash() {
  const { view, params } = readHash(location.hash);
  const known = VIEWS.some((v) => v.id === view);
  if (view === 'main') return;
  const same = open.has(view) && writeHash(view, open.get(view).state()).hash === location.hash;
  if (same && view === current) return;
  show(known ? view : VIEWS[0].id, known && !same && [...params].length > 0 ? params : null);
}

/* unpack: the wasm of the page, gzip in base64. A fetch is forbidden by the policy of the page. */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* seen: when some of this page is on the screen: a frame below the text of a lesson does not play unseen. */
function seen() {
  return new Promise((resolve) => {
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((e) => e.isIntersecting)) return;
      watch.disconnect();
      resolve();
    });
    watch.observe(document.getElementById('main'));
  });
}

async function start() {
  if (embedded) document.documentElement.dataset.embed = embedded;
  else delete document.documentElement.dataset.embed;
  startTheme();
  document.querySelector('[data-skip]').addEventListener('click', (e) => {
    e.preventDefault();
    document.getElementById('main').focus();
  });
  try {
    engine = await startEngine(await unpack(document.getElementById('wasm').textContent));
  } catch (error) {
    document.getElementById('main').textContent =
      `The library cannot start here: ${error.message}. The page needs WebAssembly with SIMD.`;
    return;
  }
  document.getElementById('about').textContent =
    `Computed by libnay ${engine.version} in WebAssembly, in this page. Nothing leaves it.`;
  makeTabs();
  if (embedded) {
    await seen();
    query.delete('embed');
    show(embedded, query);
    document.getElementById('boot')?.remove();
    globalThis.nayPlayground = { MOST, frameStats, resetFrames, engine, views: open };
    return;
  }
  document.getElementById('link').addEventListener('click', () => copyLink(current));
  document.getElementById('frame').addEventListener('click', () => copyFrame(current));
  addEventListener('hashchange', fromHash);
  for (const name of ['dragover', 'drop'])
    addEventListener(name, (e) => e.preventDefault()); /* a file that misses its place does not replace the page */
  fromHash();
  globalThis.nayPlayground = { MOST, frameStats, resetFrames, engine, views: open };
}

start();
