/* The search over all pages: the index is a script, since a page of file:// can load nothing else. It is loaded when the
 * field is used for the first time. */
(() => {
  const field = document.getElementById('find');
  const list = document.getElementById('found');
  const said = document.getElementById('foundsaid');
  const root = document.documentElement.dataset.root;
  if (!field) return;
  field.form.style.visibility = 'visible'; /* its room is there before: nothing shifts */
  let wanted = false;

  function load() {
    if (wanted) return;
    wanted = true;
    const script = document.createElement('script');
    script.src = `${root}/index.js`;
    script.onload = search;
    document.head.append(script);
  }

  /* score: how well a section answers all words; 0: one of them is missing. */
  function score([, title, , heading, text], words) {
    let sum = 0;
    const [t, h, b] = [title, heading, text].map((s) => s.toLowerCase());
    for (const word of words) {
      const at = (t.includes(word) ? 8 : 0) + (h.includes(word) ? 6 : 0) + (b.includes(word) ? 1 : 0);
      if (at === 0) return 0;
      sum += at + (h === word || t === word ? 10 : 0);
    }
    return sum;
  }

  function excerpt(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 50);
    return `${at > 0 ? '\u2026' : ''}${text.slice(at, at + 150)}${text.length > at + 150 ? '\u2026' : ''}`;
  }

  function search() {
    if (!globalThis.nayIndex) return;
    const words = field.value.toLowerCase().split(/\s+/).filter((w) => w !== '');
    list.replaceChildren();
    said.textContent = '';
    list.hidden = words.length === 0;
    if (words.length === 0) return;
    const hits = globalThis.nayIndex
      .map((s) => [score(s, words), s])
      .filter(([n]) => n > 0)
      .sort((a, b) => b[0] - a[0]);
    for (const [, [page, title, anchor, heading, text]] of hits.slice(0, 12)) {
      const link = document.createElement('a');
      link.href = `${root}/${page}${anchor ? `#${anchor}` : ''}`;
      const name = document.createElement('b');
      name.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
      const some = document.createElement('span');
      some.textContent = excerpt(text, words[0]);
      link.append(name, some);
      const item = document.createElement('li');
      item.append(link);
      list.append(item);
    }
    said.textContent = hits.length === 0 ? 'Nothing found.' : `${hits.length} ${hits.length === 1 ? 'section' : 'sections'} found.`;
  }

  field.addEventListener('focus', load);
  field.addEventListener('input', () => {
    load();
    search();
  });
  field.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') {
      field.value = '';
      search();
    }
  });
  field.form.addEventListener('submit', (e) => {
    e.preventDefault();
    list.querySelector('a')?.click();
  });
})();
