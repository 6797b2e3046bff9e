/*
 * route.js - the state of a view in the URL: #view?name=value&name=value.
 *
 * The page writes the hash when a view changes and reads it when the reader does. Values come from
 * anyone: a view checks them as it checks what is typed.
 */

const LIMIT = 4000; /* characters of a hash that every browser, mail program and chat keeps whole */

/* readHash: {view, params} of a hash; a malformed one is an empty view. */
export function readHash(hash) {
  const text = hash.replace(/^#/, '');
  const cut = text.indexOf('?');
  const view = cut < 0 ? text : text.slice(0, cut);
  return { view: view.slice(0, 40), params: new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1)) };
}

/* writeHash: the hash of a state; {hash, whole}: whole is false when a value was too long to be kept. */
export function writeHash(view, values) {
  const params = new URLSearchParams();
  let whole = true;
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') continue;
    const text = String(value);
    if (text.length > LIMIT || !wellFormed(text)) whole = false;
    else params.set(name, text);
  }
  const query = params.toString();
  if (query.length > LIMIT) return { hash: `#${view}`, whole: false };
  return { hash: query === '' ? `#${view}` : `#${view}?${query}`, whole };
}

/* wellFormed: whether a text has no lone surrogate, which a URL cannot carry. */
function wellFormed(text) {
  return !/\p{Surrogate}/u.test(text); /* under the flag u a pair is one character, not a surrogate */
}

/* replaceHash: into the address bar, without a new entry of the history; pushHash: with one. */
export function replaceHash(hash) {
  if (location.hash !== hash) put('replaceState', hash);
}

export function pushHash(hash) {
  if (location.hash !== hash) put('pushState', hash);
}

function put(how, hash) {
  try {
    history[how](null, '', hash);
  } catch {
    /* some browsers refuse this for files: the state is then in the page alone */
  }
}
