/*
 * inside.js - a filter file or a table, opened in the page: what `nay info` and `nay explain` say of
 * it, its bits drawn, and what happens when one of them is damaged.
 *
 * A file is a filter in a layout that is recognised or chosen, or a table with filters inside. Damage
 * is a flipped bit in a copy; the library then opens the copy, and refuses it or does not.
 */
import { h, announce, download, explainError, figure, sentence, shorten, Notices, UserError } from '../dom.js';
import { Density } from '../density.js';
import { readFile, EXAMPLES } from '../keys.js';
import { askScript, verdict } from '../scripts.js';
import { bytes, count, percent } from '../number.js';
import { SAMPLES } from '../samples.js';

const HEX_ROWS = 8;
const MOST_ENTRIES = 200000; /* of a table that are read */

class Inside {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.file = null; /* {name, original, data} */
    this.what = null; /* what the library made of it */
    this.input = h('input', { type: 'file', class: 'hidden', tabindex: -1, 'aria-label': 'A filter file or a table', onchange: () => this.take(this.input.files[0]) });
    this.format = h('select', { 'aria-label': 'Layout of the bytes', onchange: this.notices.guard(() => this.reopen()) }, h('option', { value: '' }, 'recognise it'), this.engine.formats.map((f) => h('option', { value: f.name }, `${f.name}: ${f.about}`)));
    this.ask = h('input', { type: 'text', 'aria-label': 'A key to ask for', placeholder: 'a key', autocomplete: 'off', spellcheck: 'false' });
    this.density = new Density({ label: 'The bytes of the file', height: 260, onpick: (byte) => this.select(byte) });
    this.build();
    this.wanted = SAMPLES.some((s) => s.id === params.get('sample')) ? params.get('sample') : params.has('sample') ? null : 'nay';
    if (params.has('sample') && this.wanted === null) this.notices.say('The link names a sample that this page does not have. A link never carries a file.', true);
    this.flip = params.get('flip');
  }

  build() {
    const guard = (act) => this.notices.guard(act);
    const drop = h('div', { class: 'drop' }, h('p', null, 'Drop a file here: ', h('b', null, '.nay'), ', .ldb, .sst, Filter.db, a Redis dump\u2026'),
      h('p', null, h('button', { type: 'button', class: 'link', onclick: () => this.input.click() }, 'or choose one'), '. It stays in this page.'));
    const over = (on) => (e) => { e.preventDefault(); drop.classList.toggle('over', on); };
    drop.addEventListener('dragover', over(true));
    drop.addEventListener('dragleave', over(false));
    drop.addEventListener('drop', (e) => { over(false)(e); this.take(e.dataTransfer?.files?.[0]); });
    this.facts = h('div');
    this.hex = h('div', { class: 'scroll hex' });
    this.state1 = h('div', { 'aria-live': 'polite' });
    this.answer = h('div', { 'aria-live': 'polite' });
    this.inner = h('div');
    this.element = h('div', null, this.notices.element, h('div', { class: 'cols' },
      h('div', { class: 'stack' }, drop, this.input,
        h('div', { class: 'panel stack' }, h('h3', null, 'Or take a sample'), h('div', { class: 'row' }, SAMPLES.map((s) => h('button', { type: 'button', onclick: guard(() => this.sample(s.id)) }, s.label))),
          h('div', { class: 'field' }, h('label', null, 'Layout of the bytes'), this.format, h('p', { class: 'note' }, 'Layouts without a magic number are read when you name them, never guessed.'))),
        h('div', { class: 'panel stack' }, h('h3', null, 'Ask for a key'),
          h('form', { class: 'row', style: 'flex-wrap: nowrap', onsubmit: (e) => { e.preventDefault(); guard(() => this.query(this.ask.value))(); } }, this.ask, h('button', { type: 'submit', class: 'main' }, 'Ask')), this.answer)),
      h('div', { class: 'stack' }, h('div', { class: 'panel stack' }, this.state1, this.facts),
        h('div', { class: 'panel stack' }, h('h3', null, 'Its bytes'), this.density.element,
          h('p', { class: 'note' }, 'Click into the picture, then a byte below: one bit of it is flipped, and the library opens the file again.'),
          this.hex, h('div', { class: 'row' }, h('button', { type: 'button', onclick: guard(() => this.repair()) }, 'Repair'), h('button', { type: 'button', onclick: guard(() => this.flipRandom()) }, 'Damage a byte somewhere'), h('button', { type: 'button', class: 'quiet', onclick: guard(() => this.save()) }, 'Download'))),
        this.inner)));
  }

  shown() {
    if (this.wanted) {
      this.notices.guard(() => this.sample(this.wanted))().then(() => {
        const at = Number(this.flip);
        if (this.flip !== null && Number.isInteger(at) && at >= 0 && this.file && at < this.file.data.length) this.damage(at);
        else if (this.flip !== null) this.notices.say('The byte that the link wants to damage is not in this file.', true);
      });
    } else this.show();
  }

  resume() { this.density.redraw(); }

  state() {
    return { sample: this.file?.sample ?? null, flip: this.file?.flipped ?? null };
  }

  async take(file) {
    if (!file) return;
    await this.notices.guard(async () => {
      const data = await readFile(file);
      if (data.length === 0) throw new UserError(`${file.name} is empty.`);
      this.format.value = '';
      this.open({ name: file.name, original: data, data: data.slice() });
    })();
  }

  sample(id) {
    const data = SAMPLES.find((s) => s.id === id).make(this.engine);
    this.format.value = SAMPLES.find((s) => s.id === id).format ?? '';
    this.open({ name: SAMPLES.find((s) => s.id === id).name, original: data, data: data.slice(), sample: id });
    this.ask.value = SAMPLES.find((s) => s.id === id).key ?? EXAMPLES[0];
  }

  open(file) {
    this.file = { ...file, flipped: null };
    this.at = Math.max(0, Math.min(file.data.length - 1, Math.floor(file.data.length / 2)));
    this.notices.clear();
    this.reopen();
  }

  /* reopen: lets the library read the bytes as they are now. */
  reopen() {
    if (!this.file) return;
    this.what?.close();
    this.what = null;
    this.answer.replaceChildren();
    try {
      this.what = examine(this.engine, this.file.data, this.format.value);
      this.verdict = null;
    } catch (error) {
      if (!error.statusName && !(error instanceof UserError)) throw error;
      this.verdict = error;
    }
    this.show();
    this.changed();
  }

  /* show: the state of the file, its facts and its bytes. */
  show() {
    const { file } = this;
    if (!file) { this.state1.replaceChildren(h('p', { class: 'note' }, 'No file is open.')); return; }
    this.state1.replaceChildren(this.headline());
    this.facts.replaceChildren(this.what ? this.what.facts() : h('p', { class: 'note' }, 'Nothing is shown of bytes that cannot be trusted.'));
    this.density.draw(file.data, file.data.length * 8, file.flipped);
    this.drawHex();
    this.inner.replaceChildren(this.what?.inner ? this.what.inner() : '');
    announce(this.state1.textContent);
  }

  headline() {
    const { file } = this;
    const damaged = file.flipped !== null ? `One bit of byte ${count(file.flipped)} is flipped. ` : '';
    if (this.verdict) {
      const where = this.verdict.offset > 0 ? `, at byte ${count(this.verdict.offset)}` : '';
      const text = this.verdict instanceof UserError ? this.verdict.message : `${sentence(this.verdict.message)}${where} (NAY_${this.verdict.statusName}).`;
      return h('div', { class: 'notice bad', 'data-state': 'refused', style: 'margin: 0' }, h('p', null, h('b', null, `${file.name}: refused. `), damaged, text));
    }
    const silent = file.flipped !== null && !this.what.checked ? h('p', null, h('b', null, 'Nobody noticed. '), `${damaged}This layout has no checksum: the filter opens, and may now deny keys that it has.`)
      : file.flipped !== null ? h('p', null, damaged, this.what.damageText ?? 'The library opened it: the byte belongs to a part that no filter needs.') : null;
    return h('div', null, h('h3', { 'data-state': 'open' }, file.name), h('p', { class: 'note' }, `${bytes(file.data.length)}; ${this.what.title}`), silent ? h('div', { class: 'notice bad', style: 'margin: 10px 0 0' }, silent) : null);
  }

  select(byte) {
    this.at = byte;
    this.drawHex();
  }

  /* drawHex: the bytes around the chosen one; each is a button that damages it. */
  drawHex() {
    const { data, flipped } = this.file;
    const per = this.hex.clientWidth > 520 ? 16 : 8;
    const first = Math.max(0, Math.floor(this.at / per) - (HEX_ROWS >> 1)) * per;
    const rows = [];
    for (let row = first; row < Math.min(data.length, first + HEX_ROWS * per); row += per) {
      const cells = [...data.subarray(row, row + per)].map((value, i) => h('button', {
        type: 'button', class: row + i === flipped ? 'byte hit' : row + i === this.at ? 'byte here' : 'byte', 'aria-label': `byte ${row + i}, ${value.toString(16).padStart(2, '0')}: flip a bit`,
        tabindex: row + i === this.at || (row === first && i === 0 && this.at < first) ? 0 : -1, onclick: this.notices.guard(() => this.damage(row + i)), onkeydown: (e) => this.moveHex(e, row + i, per),
      }, value.toString(16).padStart(2, '0')));
      rows.push(h('div', { class: 'hexrow' }, h('span', { class: 'addr' }, row.toString(16).padStart(6, '0')), cells));
    }
    this.hex.replaceChildren(...rows);
  }

  moveHex(event, byte, per) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: per, ArrowUp: -per }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.at = Math.max(0, Math.min(this.file.data.length - 1, byte + by));
    this.drawHex();
    this.hex.querySelector('.byte[tabindex="0"]')?.focus();
  }

  damage(byte) {
    const { file } = this;
    file.data = file.original.slice();
    file.data[byte] ^= 0x10;
    file.flipped = byte;
    this.at = byte;
    this.reopen();
  }

  flipRandom() {
    if (!this.file) throw new UserError('Open a file first.');
    this.damage(Math.floor(Math.random() * this.file.data.length));
  }

  repair() {
    if (!this.file) throw new UserError('Open a file first.');
    this.file.data = this.file.original.slice();
    this.file.flipped = null;
    this.reopen();
  }

  save() {
    if (!this.file) throw new UserError('Open a file first.');
    download(this.file.name, this.file.data);
  }

  query(key) {
    if (!this.what) throw new UserError('No filter is open: there is nothing to ask.');
    this.answer.replaceChildren(this.what.ask(key));
  }

  close() {
    this.density.close();
    this.what?.close();
  }
}

/* examine: opens bytes as what they are, or as what the reader says. */
function examine(engine, data, format) {
  if (format === '' && engine.isTable(data)) return new OpenTable(engine, data);
  const name = format || engine.recogniseFilter(data);
  if (name === null) throw new UserError('The bytes have no magic number that the library knows. If you know whose they are, choose the layout.');
  return new OpenFilter(engine, data, name);
}

/* OpenFilter: one filter in some layout. */
class OpenFilter {
  constructor(engine, data, name) {
    this.engine = engine;
    this.format = engine.formats.find((f) => f.name === name);
    this.filter = engine.openFilter(name, data);
    this.checked = this.format.hasChecksum;
    this.title = `${this.format.about} (${name})`;
  }

  facts() {
    const s = this.filter.stats();
    const caveat = this.engine.caveat(this.filter);
    return h('div', { class: 'stack' }, h('dl', { class: 'figures' },
      figure('Family', s.kind === 'auto' ? this.format.name : s.kind, s.k ? `k = ${s.k}` : null), figure('Keys', Number.isFinite(s.nkeysEstimated) ? count(s.nkeysEstimated) : 'unknown', s.nkeys ? `planned: ${count(s.nkeys)}` : 'estimated from its bits'),
      figure('Bits', count(s.nbits), `${percent(s.fill)} set`), figure('FPR now', percent(s.fprNow), s.overloaded ? 'overloaded' : Number.isFinite(s.fprPlanned) && s.nkeys ? `planned: ${percent(s.fprPlanned)}` : null),
      figure('Hash', s.hash ?? 'its own', s.locked ? 'locked: the key is secret' : null), figure('Checksum', this.checked ? 'yes' : 'none', this.checked ? 'damage is refused' : 'damage is silent')),
    caveat ? h('p', { class: 'note' }, caveat) : null);
  }

  ask(key) {
    const why = this.filter.explain(key);
    return answerOf(this.filter.kind === 'auto' ? '' : this.filter.kind, key, why);
  }

  close() { this.filter.free(); }
}

function answerOf(kind, key, why) {
  const word = why.maybe ? 'maybe' : 'nay';
  const steps = askScript(kind, key, why);
  return h('div', { class: 'stack' }, h('p', { class: `answer ${word}`, 'data-answer': word }, h('strong', null, word), h('span', null, `${shorten(key)}: ${verdict(kind, why)}.`)),
    h('ol', { class: 'steps', tabindex: 0, 'aria-label': 'What the probe reads' }, steps.slice(0, 64).map((s) => h('li', null, h('span', null, s.text)))));
}

/* OpenTable: a sorted table with filters inside. */
class OpenTable {
  constructor(engine, data) {
    this.engine = engine;
    this.filters = engine.openTableFilters(data);
    this.info = this.filters.info();
    this.checked = this.info.checksum !== 'none';
    this.title = `a sorted table of ${this.info.engine}`;
    this.damageText = this.info.ndamaged > 0 ? `${count(this.info.ndamaged)} of its filters ${this.info.ndamaged === 1 ? 'is' : 'are'} damaged: such a filter answers maybe, and no key is lost.` : null;
    try {
      this.table = engine.openTable(data);
      this.walk();
    } catch (error) {
      this.why = explainError(error);
    }
  }

  /* walk: reads the data as well, so that a damaged block is found. */
  walk() {
    this.first = [];
    this.nentries = 0;
    try {
      for (const entry of this.table.entries()) {
        if (this.nentries < 12) this.first.push(entry);
        this.nentries += 1;
        if (this.nentries >= MOST_ENTRIES) break;
      }
    } catch (error) {
      if (!error.statusName) throw error;
      this.damageText = `${this.damageText ?? ''} After ${count(this.nentries)} entries a block of its data is refused: ${error.message}, at byte ${count(error.offset)} (NAY_${error.statusName}).`.trim();
    }
  }

  facts() {
    const i = this.info;
    const layouts = { none: 'no filter', block: 'one for each 2 KiB', full: 'one for the table', partitioned: 'partitioned' };
    return h('div', { class: 'stack' }, h('dl', { class: 'figures' }, figure('Engine', i.engine, i.formatVersion ? `format ${i.formatVersion}` : null), figure('Filters', count(i.nfilters), layouts[i.layout] ?? i.layout),
      figure('Bytes of filters', bytes(i.nbytes), i.policy ?? 'no policy'), figure('Entries', i.nkeys ? count(i.nkeys) : 'not said', i.nentries ? `${count(i.nentries)} in the filter` : null),
      figure('Checksum', i.checksum, i.ndamaged ? `${count(i.ndamaged)} damaged` : 'all filters intact'), figure('Prefixes', i.prefixes ? 'yes' : 'no', i.prefix)),
    i.caveats.map((c) => h('p', { class: 'note' }, c)), i.understood ? null : h('p', { class: 'note' }, 'No format has this policy: every answer is maybe.'), this.why ? h('p', { class: 'note' }, `Its data cannot be read here: ${this.why}`) : null);
  }

  /* inner: its filters, and its first entries. */
  inner() {
    const rows = [];
    for (const f of this.filters.filters()) {
      if (rows.length >= 40) break;
      if (f.bytes.length === 0) continue;
      rows.push(h('tr', null, h('td', { class: 'num' }, count(f.offset)), h('td', { class: 'num' }, bytes(f.bytes.length)), h('td', null, f.format ?? 'unknown'), h('td', null, f.damaged ? 'damaged' : 'intact')));
    }
    return h('div', { class: 'panel stack' }, h('h3', null, 'Filters inside'),
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Filters of the table' }, h('table', null, h('thead', null, h('tr', null, ['at byte', 'size', 'layout', 'state'].map((t, i) => h('th', { scope: 'col', class: i < 2 ? 'num' : null }, t)))), h('tbody', null, rows))),
      this.entries());
  }

  entries() {
    if (!this.table) return null;
    const text = (b) => shorten(new TextDecoder().decode(b.slice(0, 200)), 32);
    const rows = this.first.map((e) => h('tr', null, h('td', null, text(e.key)), h('td', null, e.deleted ? '(deleted)' : text(e.value))));
    return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'First entries' }, h('table', null, h('caption', null, `Its first entries, of ${count(this.nentries)}${this.nentries >= MOST_ENTRIES ? ' or more' : ''}`), h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'key'), h('th', { scope: 'col' }, 'value'))), h('tbody', null, rows)));
  }

  ask(key) {
    const why = this.filters.explain(key);
    const word = why.maybe ? 'maybe' : 'nay';
    return h('div', { class: 'stack' }, h('p', { class: `answer ${word}`, 'data-answer': word }, h('strong', null, word), h('span', null, `${shorten(key)}: ${why.probes.length === 0 ? (why.maybe ? 'the table has no filter for it' : 'no block can hold it') : `${count(why.probes.length)} ${why.probes.length === 1 ? 'filter was' : 'filters were'} probed`}.`)),
      h('ol', { class: 'steps' }, why.probes.slice(0, 40).map((p) => h('li', null, h('span', null, `filter at byte ${count(p.offset)}: ${p.damaged ? 'damaged, so maybe' : p.maybe ? 'maybe' : 'nay'}`)))));
  }

  close() {
    this.filters.free();
    this.table?.free();
  }
}

export const inside = {
  id: 'inside',
  title: 'Look inside',
  heading: 'Look inside a file',
  lead: 'Drop a filter or a table of LevelDB, RocksDB, Redis, Cassandra. See what it holds, ask it, damage a byte. Nothing leaves this page.',
  mount: (context, params) => new Inside(context, params),
};
