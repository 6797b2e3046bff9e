/*
 * inspect.js - bytes opened by the library as what they are: one filter in some layout, or a sorted
 * table with filters inside. Each kind tells its facts, answers for a key, and says what damage does.
 */
import { h, explainError, figure, shorten, UserError } from './dom.js';
import { derivation } from './derivation.js';
import { shapeOf } from './groups.js';
import { aboutOf, askScript, verdict } from './scripts.js';
import { answerLine, note, panel, stack, table, title } from './parts.js';
import { bytes, count, percent } from './number.js';

const MOST_ENTRIES = 200000; /* of a table that are read */
const LAYOUTS = {
  none: 'no filter',
  block: 'one for each 2 KiB',
  full: 'one for the table',
  partitioned: 'partitioned',
};

/* inspect: opens bytes as what they are, or as the layout that the reader names. */
export function inspect(engine, data, format) {
  if (format === '' && engine.isTable(data)) return new OpenTable(engine, data);
  const name = format || engine.recogniseFilter(data);
  if (name === null) {
    const hint = 'If you know whose they are, choose the layout.';
    throw new UserError(`The bytes have no magic number that the library knows. ${hint}`);
  }
  const filter = engine.openFilter(name, data);
  if (filter.kind === 'map') {
    filter.free();
    return new OpenMap(engine, data, name);
  }
  return new ({ range: OpenRange, list: OpenList }[filter.kind] ?? OpenFilter)(engine, filter, name);
}

function stepList(texts) {
  const items = texts.slice(0, 64).map((text, i) => h('li', { 'data-n': i + 1 }, h('span', null, text)));
  return h('ol', { class: 'steps', tabindex: 0, 'aria-label': 'What the probe reads' }, items);
}

class OpenFilter {
  constructor(engine, filter, name) {
    this.engine = engine;
    this.format = engine.formats.find((f) => f.name === name);
    this.filter = filter;
    this.checked = this.format.hasChecksum;
    this.title = `${this.format.about} (${name})`;
  }

  facts() {
    const s = this.filter.stats();
    const caveat = this.engine.caveat(this.filter);
    const atLeast = s.saturated ? 'at least ' : '';
    const keys = Number.isFinite(s.nkeysEstimated) ? atLeast + count(s.nkeysEstimated) : 'unknown';
    const planned = Number.isFinite(s.fprPlanned) && s.nkeys ? `planned: ${percent(s.fprPlanned)}` : null;
    const figures = [
      figure('Family', s.kind === 'auto' ? this.format.name : s.kind, this.detail(s)),
      figure('Keys', keys, s.nkeys ? `planned: ${count(s.nkeys)}` : 'estimated from its bits'),
      figure('Payload', bytes(this.filter.payload().length), this.fill(s)),
      this.rate(s, planned),
      figure('Hash', s.hash ?? 'its own', s.locked ? 'locked: the key is secret' : null),
      figure('Checksum', this.checked ? 'yes' : 'none', this.checked ? 'damage is refused' : 'damage is silent'),
    ];
    return stack(h('dl', { class: 'figures' }, figures), caveat ? note(caveat) : null);
  }

  detail(s) {
    return s.k ? `k = ${s.k}` : null;
  }

  rate(s, planned) {
    return figure('FPR now', percent(s.fprNow), s.overloaded ? 'overloaded' : planned);
  }

  /* fill: the share of what a probe reads that is taken; of static filters nothing is free. */
  fill(s) {
    const shape = shapeOf([this.filter.explain(new Uint8Array(0))]);
    if (shape === 'bit') return `${percent(s.fill)} of its bits are 1`;
    return shape === 'fingerprint' ? `${percent(s.fill)} of its slots are taken` : null;
  }

  ask(key) {
    const why = this.filter.explain(key);
    const about = aboutOf(this.filter.traits, why);
    const steps = askScript(about, key, why).map((s) => s.text);
    const how = derivation(why, this.filter.stats().nbits);
    if (how) steps.splice(1, 0, how);
    return stack(answerLine(why.maybe, `${shorten(key)}: ${verdict(about, why)}.`), stepList(steps));
  }

  close() {
    this.filter.free();
  }
}

/* OpenRange: also answers whether a key lies between two: "lo..hi". */
class OpenRange extends OpenFilter {
  detail() {
    return 'keys by their numbers';
  }

  rate(s) {
    return s.rangeExact
      ? figure('FPR', 'none', 'exact: it stores the numbers as they are')
      : figure('FPR of a range', percent(s.fprNow), `of ${count(s.rangeLength)} numbers`);
  }

  ask(text) {
    const ends = /^(.+?)\.\.(.+)$/s.exec(text);
    if (!ends) return stack(super.ask(text), note('A range is two keys with .. between them: 1000..1009'));
    const [, lo, hi] = ends;
    const maybe = this.filter.hasRange(lo, hi);
    const between = `from ${shorten(lo)} to ${shorten(hi)}`;
    return answerLine(maybe, `${between}: ${maybe ? 'a key may be there' : 'no key is there'}, both ends included.`);
  }
}

/* OpenList: exact for the keys that it was built with, listed or not; any answer for others. */
class OpenList extends OpenFilter {
  detail(s) {
    return s.k > 0 ? `${s.k} check bits` : 'no check bits';
  }

  rate(s) {
    return figure('Wrong answers', 'none', `for keys it was built with; of others ${s.k > 0 ? `${percent(s.fprNow)} get` : 'all get'} any answer`);
  }

  ask(key) {
    const maybe = this.filter.has(key);
    const known = maybe ? 'listed, if the list was built with this key' : 'not listed';
    return answerLine(maybe, `${shorten(key)}: ${known}.`);
  }
}

/* OpenMap: a value for each key. */
class OpenMap {
  constructor(engine, data, name) {
    this.map = engine.openMap(data);
    this.checked = true;
    const { about } = engine.formats.find((f) => f.name === name);
    this.title = `a static map in ${about} (${name})`;
  }

  facts() {
    const s = this.map.stats();
    const figures = [
      figure('Keys', count(s.nkeys), 'each with a value'),
      figure('Value', `${s.valueBits} bits`, `${s.bitsPerKey.toFixed(2)} bits for each key in all`),
      figure('Check bits', String(s.checkBits), s.checkBits > 0 ? `${percent(s.errorRate)} of other keys get a value` : 'other keys get any value'),
      figure('Hash', s.hash, s.locked ? 'locked: the key is secret' : null),
      figure('Checksum', 'yes', 'damage is refused'),
    ];
    return stack(h('dl', { class: 'figures' }, figures));
  }

  ask(key) {
    const value = this.map.get(key);
    if (value === undefined) return answerLine(false, `${shorten(key)}: the map has no such key.`);
    const { checkBits } = this.map.stats();
    const other = checkBits > 0 ? ', or a key outside the map whose check bits agree by chance' : ', if the map has this key: others get any value';
    return h('p', { class: 'answer maybe', 'data-answer': 'value' }, h('strong', null, String(value)), h('span', null, `is the value of ${shorten(key)}${other}.`));
  }

  close() {
    this.map.free();
  }
}

class OpenTable {
  constructor(engine, data) {
    this.engine = engine;
    this.filters = engine.openTableFilters(data);
    this.info = this.filters.info();
    this.checked = this.info.checksum !== 'none';
    this.title = `a sorted table of ${this.info.engine}`;
    this.damage = [];
    const n = this.info.ndamaged;
    const are = `${count(n)} of its filters ${n === 1 ? 'is' : 'are'} damaged`;
    if (n > 0) this.damage.push(`${are}: such a filter answers maybe, and no key is lost.`);
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
      const what = `${error.message}, at byte ${count(error.offset)} (NAY_${error.statusName})`;
      this.damage.push(`After ${count(this.nentries)} entries a block of its data is refused: ${what}.`);
    }
  }

  facts() {
    const i = this.info;
    const figures = [
      figure('Engine', i.engine, i.formatVersion ? `format ${i.formatVersion}` : null),
      figure('Filters', count(i.nfilters), LAYOUTS[i.layout] ?? i.layout),
      figure('Bytes of filters', bytes(i.nbytes), i.policy ?? 'no policy'),
      figure(
        'Entries',
        i.nkeys ? count(i.nkeys) : 'not said',
        i.nentries ? `${count(i.nentries)} in the filter` : null,
      ),
      figure('Checksum', i.checksum, i.ndamaged ? `${count(i.ndamaged)} damaged` : 'all filters intact'),
      figure('Prefixes', i.prefixes ? 'yes' : 'no', i.prefix),
    ];
    const notes = i.caveats.map(note);
    if (!i.understood) notes.push(note('No format has this policy: every answer is maybe.'));
    if (this.why) notes.push(note(`Its data cannot be read here: ${this.why}`));
    return stack(h('dl', { class: 'figures' }, figures), notes);
  }

  /* inner: its filters, and its first entries. */
  inner() {
    const rows = [];
    for (const f of this.filters.filters()) {
      if (rows.length >= 40) break;
      const state = f.damaged ? 'damaged' : 'intact';
      if (f.bytes.length > 0) rows.push([count(f.offset), bytes(f.bytes.length), f.format ?? 'unknown', state]);
    }
    const head = ['at byte', '#size', 'layout', 'state'];
    return panel(title('Filters inside'), table({ label: 'Filters of the table', head, rows }), this.entries());
  }

  entries() {
    if (!this.table) return null;
    const text = (b) => shorten(new TextDecoder().decode(b.slice(0, 200)), 32);
    const rows = this.first.map((e) => [text(e.key), e.deleted ? '(deleted)' : text(e.value)]);
    const all = `${count(this.nentries)}${this.nentries >= MOST_ENTRIES ? ' or more' : ''}`;
    return table({ label: 'First entries', caption: `Its first entries, of ${all}`, head: ['key', 'value'], rows });
  }

  ask(key) {
    const { maybe, probes } = this.filters.explain(key);
    const none = maybe ? 'the table has no filter for it' : 'no block can hold it';
    const some = `${count(probes.length)} ${probes.length === 1 ? 'filter was' : 'filters were'} probed`;
    const told = (p) =>
      `filter at byte ${count(p.offset)}: ${p.damaged ? 'damaged, so maybe' : p.maybe ? 'maybe' : 'nay'}`;
    const answer = answerLine(maybe, `${shorten(key)}: ${probes.length === 0 ? none : some}.`);
    return stack(answer, stepList(probes.map(told)));
  }

  close() {
    this.filters.free();
    this.table?.free();
  }
}
