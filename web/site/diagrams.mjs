// The diagrams of doc/learn: doc/img/learn-*.svg, each drawn from what the library itself does or says: explanations, traces,
// plans, statistics. `make pictures` writes them anew; a test compares them with the tree and their alternative texts with
// the lessons'. node diagrams.mjs PACKAGE TRACE.wasm [OUT]
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bytes, count, percent } from '../playground/number.js';
import { Diagram, Plot } from './diagram.mjs';

const W = 620;
const bitsOf = (filter, n) => Array.from({ length: n }, (_, i) => (filter.payload()[i >> 3] >> (i & 7)) & 1);
const list = (items) => (items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items[items.length - 1]}`);
const at = (why) => why.steps.map((s) => s.unitIndex * 512 + s.bit - s.unitBit);
const rate = (p) => percent(p, 3);
const range = (from, to, step = 1) => Array.from({ length: Math.floor((to - from) / step + 1e-9) + 1 }, (_, i) => from + i * step);
const lines = (from, to) => range(from, to).join('\n');
const share = (answers) => answers.reduce((sum, a) => sum + a, 0) / answers.length;

/* until: the steps that a probe of bits needs: up to the first 0. */
const until = (why) => {
  const first = why.steps.findIndex((s) => !s.ok);
  return first < 0 ? why.steps : why.steps.slice(0, first + 1);
};

/* keysAndBits: keys above a row of bits with lines to those they set, a key below it with lines to those its probe reads. */
function keysAndBits(diagram, { filter, keys, names = keys, asked, nbits, top = 34, sides = 20 }) {
  const size = (W - 2 * sides) / nbits;
  const row = top + 92;
  keys.forEach((key, i) => {
    const x = sides + ((W - 2 * sides) * (i + 0.5)) / keys.length;
    const colour = ['a', 'b', 'c', 'd'][i % 4];
    for (const bit of at(filter.explain(key))) diagram.way(x, top + 8, sides + (bit + 0.5) * size, row, colour);
    diagram.text(x, top, names[i], `mid strong w${colour}`);
  });
  const why = filter.explain(asked);
  const read = until(why);
  for (const s of read) {
    const bit = at({ steps: [s] })[0];
    diagram.way(W / 2, row + 118, sides + (bit + 0.5) * size, row + size + 18, s.ok ? 'soft' : 'bad', s.ok ? 1.5 : 2.5, s.ok ? '' : '5 3');
  }
  diagram.cells(sides, row, size, bitsOf(filter, nbits));
  for (const s of read) {
    const bit = at({ steps: [s] })[0];
    diagram.frame(sides + bit * size + 1, row, size - 2, size - 2, s.ok ? 'ink' : 'bad', 2.5);
  }
  diagram.text(W / 2, row + 138, why.maybe ? `${asked}: maybe` : `${asked}: bit ${at({ steps: [read[read.length - 1]] })[0]} is 0: nay`, 'mid strong');
  return { why, read };
}

function bits(nay) {
  const keys = ['apple', 'pear', 'plum'];
  const filter = nay.Filter.create({ kind: 'bloom', nkeys: 3, bitsPerKey: 8 });
  for (const key of keys) filter.add(key);
  const why = filter.explain('cherry');
  const read = until(why);
  const d = new Diagram(W, 290, 'Three keys in 24 bits, and a key that is not there',
    `${keys.map((k) => `${k} sets bits ${list(at(filter.explain(k)))}`).join('; ')}. cherry would have bits ${list(at(why))}: ` +
    `its probe reads bits ${list(at({ steps: read }))}, and stops there, because bit ${at({ steps: read }).pop()} is 0.`);
  keysAndBits(d, { filter, keys, asked: 'cherry', nbits: 24 });
  return d;
}

function sizing(nay) {
  const fpr = (bitsPerKey) => nay.Filter.plan({ kind: 'bloom', nkeys: 1000000, bitsPerKey }).fpr;
  const marks = [8, 10, 12, 16];
  const d = new Diagram(W, 330, 'What bits per key buy', `The FPR of a Bloom filter of a million keys, on a logarithmic axis, falls almost on a line: ` +
    `${marks.map((b) => `${rate(fpr(b))} with ${b} bits per key`).join(', ')}. 8 bits do not give 1%.`);
  const p = new Plot(d, { left: 70, top: 40, width: W - 100, height: 230,
    x: { min: 2, max: 20, ticks: range(2, 20, 2), show: String, label: 'bits per key' },
    y: { min: 5e-5, max: 1, log: true, ticks: [1e-4, 1e-3, 1e-2, 0.1, 1], show: (v) => percent(v), label: 'FPR' } });
  p.curve(range(2, 20, 0.5).map((b) => [b, fpr(b)]), 'a');
  for (const b of marks) p.point(b, fpr(b), b === 8 ? 'bad' : 'a', `${b} bits: ${rate(fpr(b))}`, 10, -4, b === 8 ? 'strong wbad' : '');
  return d;
}

function overfilled(nay) {
  const n = 1000000;
  const filter = nay.Filter.create({ kind: 'bloom', nkeys: n, bitsPerKey: 10 });
  const points = [];
  for (let i = 1; i <= 12; i += 1) {
    filter.addMany(lines(((i - 1) * n) / 4 + 1, (i * n) / 4));
    points.push([i / 4, filter.stats().fprNow, filter.stats().fill]);
  }
  const [, once] = points[3];
  const [, twice, full] = points[7];
  const d = new Diagram(W, 320, 'A Bloom filter that gets three times its keys',
    `Planned for a million keys with 10 bits each. The FPR by its bits is ${rate(once)} with the planned keys, ${rate(twice)} with twice as many, ` +
    `when ${rate(full)} of the bits are 1, and ${rate(points[11][1])} with three times as many.`);
  const p = new Plot(d, { left: 70, top: 40, width: W - 120, height: 220,
    x: { min: 0, max: 3, ticks: [0, 1, 2, 3], show: (v) => `${v} million`, label: 'keys that are in' },
    y: { min: 0, max: 0.45, ticks: [0, 0.1, 0.2, 0.3, 0.4], show: (v) => percent(v), label: 'FPR, computed from the bits that are set' } });
  d.line(p.atX(1), 40, p.atX(1), 260, 'soft', 1, '4 4');
  d.text(p.atX(1) + 6, 58, 'the plan', 'small soft');
  p.curve([[0, 0], ...points], 'a');
  p.point(1, once, 'a', rate(once), -8, -10, 'end').point(2, twice, 'a', rate(twice), -8, -10, 'end').point(3, points[11][1], 'a', rate(points[11][1]), -10, -6, 'end');
  return d;
}

function probes(nay) {
  const nbits = 10000000;
  const fpr = range(1, 16).map((k) => nay.Filter.plan({ kind: 'bloom', nkeys: 1000000, nbits, k }).fpr);
  const best = fpr.indexOf(Math.min(...fpr)) + 1;
  const d = new Diagram(W, 320, 'The FPR by the number of probes, at 10 bits per key',
    `${range(1, 16, 3).map((k) => `k = ${k}: ${rate(fpr[k - 1])}`).join(', ')}. It is least at k = ${best}, ${rate(fpr[best - 1])}, and nearly flat from 5 to 9.`);
  const p = new Plot(d, { left: 70, top: 40, width: W - 100, height: 220,
    x: { min: 0.3, max: 16.7, ticks: range(1, 16), show: String, label: 'k, probes per key' },
    y: { min: 0, max: 0.11, ticks: [0, 0.02, 0.04, 0.06, 0.08, 0.1], show: (v) => percent(v), label: 'FPR' } });
  fpr.forEach((y, i) => p.bar(i + 1, y, 22, i + 1 === best ? 'c' : 'one'));
  for (const k of [1, best, 16]) d.text(p.atX(k), p.atY(fpr[k - 1]) - 6, rate(fpr[k - 1]), 'small mid');
  return d;
}

function doubleHashing(nay) {
  const key = 'apple';
  const leveldb = nay.formats.create('leveldb', { nkeys: 6, bitsPerKey: 10 });
  const m = leveldb.stats().nbits;
  const one = at(leveldb.explain(key));
  const bloom = nay.Filter.create({ kind: 'bloom', nkeys: 6, nbits: m, k: one.length });
  const two = at(bloom.explain(key));
  const stride = (one[1] - one[0] + m) % m;
  if (!one.every((b, i) => i === 0 || (b - one[i - 1] + m) % m === stride)) throw new Error('the positions are no progression');
  const d = new Diagram(W, 350, 'The bits of one key, by double hashing and by nay',
    `${m} bits in a ring. LevelDB's layout puts ${key} at bits ${list(one)}: each ${stride} further than the one before, modulo ${m}, so here side by side. ` +
    `A Bloom filter of nay puts it at bits ${list(two)}, with no pattern.`);
  for (const [x, name, places] of [[W / 4, `LevelDB: each + ${stride} mod ${m}`, one], [(3 * W) / 4, 'nay: no progression', two]]) {
    const y = 168;
    const radius = 112;
    const spot = (bit, far = radius) => [x + far * Math.sin((2 * Math.PI * bit) / m), y - far * Math.cos((2 * Math.PI * bit) / m)];
    for (let bit = 0; bit < m; bit += 1) {
      const [px, py] = spot(bit);
      d.dot(px, py, places.includes(bit) ? 6 : 3, places.includes(bit) ? 'one' : 'line');
    }
    d.path(places.map((bit, i) => `${i ? 'L' : 'M'}${spot(bit, radius - 9).map((v) => v.toFixed(1)).join(' ')}`).join(''), 'b', 1.3);
    places.forEach((bit) => {
      const [px, py] = spot(bit, radius + 20);
      d.text(px, py + 5, bit, 'small mid');
    });
    d.text(x, y + 5, `“${key}”`, 'mid strong');
    d.text(x, 330, name, 'mid');
  }
  return d;
}

function blocked(nay) {
  const n = 20000;
  const filter = nay.Filter.build(range(1, n).map(String), { kind: 'blocked', nkeys: n, bitsPerKey: 10 });
  const load = new Map();
  let nlines = 0;
  for (let i = 1; i <= n; i += 1) {
    const line = filter.explain(String(i)).steps[0].unitIndex;
    load.set(line, (load.get(line) ?? 0) + 1);
    nlines = Math.max(nlines, line + 1);
  }
  const most = Math.max(...load.values());
  const keys = Array(most + 1).fill(0);
  for (let line = 0; line < nlines; line += 1) keys[load.get(line) ?? 0] += 1;
  const wrong = Array(most + 1).fill(0);
  const probes = 200000;
  for (let i = 0; i < probes; i += 1) {
    const key = `absent ${i}`;
    if (filter.has(key)) wrong[load.get(filter.explain(key).steps[0].unitIndex) ?? 0] += 1;
  }
  const all = wrong.reduce((a, b) => a + b, 0);
  const mean = n / nlines;
  const above = Math.ceil(mean + 0.5);
  const part = (of) => of.slice(above).reduce((a, b) => a + b, 0);
  const d = new Diagram(W, 350, 'Keys per cache line, and where false positives come from',
    `${count(n)} keys in ${count(nlines)} lines of a blocked filter with 10 bits per key: ${mean.toFixed(1)} keys a line on average, ${most} in the fullest. ` +
    `The ${rate(part(keys) / nlines)} of lines with ${above} keys and more give ${rate(part(wrong) / all)} of ${count(all)} false positives among ${count(probes)} absent keys.`);
  const from = keys.findIndex((v) => v > 0);
  const p = new Plot(d, { left: 60, top: 66, width: W - 80, height: 220,
    x: { min: from - 0.7, max: most + 0.7, ticks: range(Math.ceil(from / 10) * 10, most, 10), show: String, label: 'keys in a line' },
    y: { min: 0, max: 0.1, ticks: [0, 0.02, 0.04, 0.06, 0.08, 0.1], show: (v) => percent(v), label: '' } });
  const step = (W - 80) / (most - from + 1.4);
  for (let i = from; i <= most; i += 1) {
    if (keys[i]) d.rect(p.atX(i) - step * 0.42, p.atY(keys[i] / nlines), step * 0.42, p.top + p.height - p.atY(keys[i] / nlines), 'one');
    if (wrong[i]) d.rect(p.atX(i), p.atY(wrong[i] / all), step * 0.42, p.top + p.height - p.atY(wrong[i] / all), 'b');
  }
  d.line(p.atX(mean), 60, p.atX(mean), 286, 'soft', 1, '4 4');
  d.text(p.atX(mean) - 6, 74, `mean ${mean.toFixed(1)}`, 'small soft end');
  d.rect(60, 18, 12, 12, 'one').text(78, 29, 'share of the lines', 'small');
  d.rect(230, 18, 12, 12, 'b').text(248, 29, 'share of the false positives that come from them', 'small');
  return d;
}

function counting(nay) {
  const n = 1000;
  const filter = nay.Filter.build(range(1, n).map(String), { kind: 'counting', nkeys: n, fpr: 0.01 });
  filter.remove('500');
  const key = '2000';
  const before = filter.explain(key);
  if (!before.maybe) throw new Error(`${key} is no false positive`);
  const whose = before.steps.map((s) => range(1, n).map(String).filter((k) => k !== '500' && filter.explain(k).steps.some((t) => t.bit === s.bit)));
  filter.remove(key);
  const after = filter.explain(key);
  const lost = range(1, n).map(String).filter((k) => k !== '500' && !filter.has(k));
  const d = new Diagram(W, 40 + 34 * (before.steps.length + 1) + 40, `What removing ${key} takes away, which was never added`,
    `${key} is a false positive: its ${before.steps.length} counters are above 0 because of other keys. Removing it takes 1 from each. ` +
    `${before.steps.map((s, i) => `Bit ${s.bit - s.unitBit}: from ${s.counter} to ${after.steps[i].counter}, also of ${list(whose[i])}`).join('; ')}. ` +
    `${list(lost)} have a counter of 0 now, and are a false nay.`);
  const columns = [24, 112, 196, 262, 330];
  ['bit', 'counter', '', 'after', 'keys that need it'].forEach((text, i) => d.text(columns[i], 30, text, 'small soft'));
  before.steps.forEach((s, i) => {
    const y = 40 + 34 * i;
    const gone = after.steps[i].counter === 0;
    d.text(columns[0], y + 21, s.bit - s.unitBit, 'mono');
    d.rect(columns[1], y + 3, 28, 26, 'one', 4).text(columns[1] + 14, y + 21, s.counter, 'mid on');
    d.text(columns[2], y + 21, '\u2212 1', 'soft');
    d.rect(columns[3], y + 3, 28, 26, gone ? 'zero' : 'one', 4).text(columns[3] + 14, y + 21, after.steps[i].counter, gone ? 'mid strong wbad' : 'mid on');
    if (gone) d.frame(columns[3], y + 3, 28, 26, 'bad');
    d.text(columns[4], y + 21, whose[i].map((k) => (gone ? `${k}: a false nay` : k)).join(', '), gone ? 'strong wbad' : '');
  });
  d.text(24, 40 + 34 * before.steps.length + 36, `${count(n)} keys, 1%: after \u201cremove ${key}\u201d ${list(lost)} are lost.`, 'small');
  return d;
}

function intersection(nay) {
  const monday = ['ann', 'bob', 'cat', 'dan', 'eve'];
  const tuesday = ['cat', 'dan', 'fay', 'gus', 'hal'];
  const shared = monday.filter((k) => tuesday.includes(k));
  const of = (keys) => {
    const filter = nay.Filter.create({ kind: 'bloom', nkeys: 5, nbits: 40, k: 3 });
    for (const key of keys) filter.add(key);
    return filter;
  };
  const nbits = 40;
  const both = of(monday).intersect(of(tuesday));
  const rows = [['Monday', of(monday)], ['Tuesday', of(tuesday)], ['both: and', both], [`only ${list(shared)}`, of(shared)]].map(([name, f]) => [name, bitsOf(f, nbits)]);
  const extra = range(0, nbits - 1).filter((i) => rows[2][1][i] && !rows[3][1][i]);
  const d = new Diagram(W, 236, 'The and of two filters is not the filter of the keys in both',
    `Monday has ${list(monday)}; Tuesday ${list(tuesday)}. The and of their bits has ${rows[2][1].filter(Boolean).length} bits set; the filter of ${list(shared)} alone has ` +
    `${rows[3][1].filter(Boolean).length}. Bits ${list(extra)} are 1 in both for different keys.`);
  const size = (W - 40) / nbits;
  rows.forEach(([name, values], row) => {
    const y = 34 + row * 48 + (row > 1 ? 8 : 0);
    d.text(20, y - 7, name, row === 0 ? 'small wa strong' : row === 1 ? 'small wc strong' : 'small strong');
    values.forEach((bit, i) => {
      const odd = row === 2 && extra.includes(i);
      d.rect(20 + i * size + 0.8, y, size - 1.6, 22, bit ? (odd ? 'bad' : row === 0 ? 'a' : row === 1 ? 'c' : 'one') : 'zero', 2);
    });
  });
  d.rect(250, 120, 12, 12, 'bad').text(268, 131, 'set by different keys', 'small wbad');
  return d;
}

function peeling(nay) {
  const keys = ['apple', 'pear', 'plum', 'cherry', 'quince', 'fig', 'lemon'];
  let filter;
  const { events } = nay.trace(() => { filter = nay.Filter.build(keys, { kind: 'xor', nkeys: keys.length, fpr: 0.05 }); });
  const last = events.map((e) => e.event).lastIndexOf('peelAttempt');
  const run = events.slice(last);
  const nslots = run[0].slots;
  const words = new Map(keys.map((key) => [filter.explain(key).word, key]));
  const slots = new Map();
  for (const e of run.filter((x) => x.event === 'peelKey')) slots.set(e.mixed, { key: words.get(e.word), at: [...e.slots, ...e.more].filter((s) => s !== 0xffffffff) });
  const taken = run.filter((e) => e.event === 'peelTake').map((e) => ({ ...slots.get(e.mixed), slot: e.slot }));
  const value = new Map(run.filter((e) => e.event === 'peelAssign').map((e) => [e.slot, e.value]));
  const d = new Diagram(W, 306, 'Keys are peeled off one by one, and their slots set in reverse',
    `${keys.length} keys, ${nslots} slots. Peeled in this order, each by a slot that no key left over has: ${taken.map((t) => `${t.key} by slot ${t.slot}`).join(', ')}. ` +
    `Set in reverse: ${[...taken].reverse().map((t) => `slot ${t.slot} to ${value.get(t.slot)}`).join(', ')}; the other slots stay 0.`);
  const size = (W - 40) / nslots;
  taken.forEach((t, i) => {
    const x = 20 + ((W - 40) * (i + 0.5)) / taken.length;
    const colour = ['a', 'b', 'c', 'd'][i % 4];
    for (const s of t.at) d.way(x, 66, 20 + (s + 0.5) * size, 190, colour, s === t.slot ? 3.5 : 1, s === t.slot ? '' : '3 3');
    d.text(x, 56, t.key, `mid strong w${colour}`);
    d.text(x, 32, `${i + 1}.`, 'mid soft small');
  });
  range(0, nslots - 1).forEach((s) => {
    const set = value.has(s);
    d.rect(20 + s * size + 0.7, 192, size - 1.4, 24, set ? 'one' : 'zero', 2);
    if (set) d.text(20 + (s + 0.5) * size, value.has(s - 1) && s % 2 ? 246 : 232, s, 'small mid');
  });
  d.text(20, 270, 'Bold: the slot by which the key is peeled. From the last key to the first, that slot', 'small soft');
  d.text(20, 288, 'is set so that the xor of the key\u2019s three slots is its fingerprint.', 'small soft');
  return d;
}

function band(nay) {
  const n = 300;
  const { events } = nay.trace(() => nay.Filter.build(range(1, n).map((i) => `key ${i}`), { kind: 'ribbon', nkeys: n, fpr: 0.1 }).free(), { capacity: 1 << 17 });
  const part = events.findIndex((e) => e.event === 'bandPart');
  const rows = new Map();
  for (const e of events.slice(part + 1)) {
    if (e.event === 'bandPart' || e.event === 'bandColumn') break;
    if (e.event === 'bandRow') rows.set(e.slot, e.low | (e.high << 64n));
    else if (e.event === 'bandCleared') rows.delete(e.slot);
  }
  const shown = 72;
  const size = 3;
  const { nblocks, nkeys } = events[part];
  const width = Math.min(nblocks * 128, 193);
  const have = range(0, shown - 1).filter((s) => rows.has(s));
  const d = new Diagram(W, 290, 'The equations of a ribbon filter, sorted: a band',
    `A ribbon filter of ${n} keys: ${count(nkeys)} equations over ${count(nblocks * 128)} slots, as the library reduced them. Of the first ${shown} slots ${have.length} have a row. ` +
    `Each row begins at its slot and ends at most 127 slots later: left and right of the band there is nothing.`);
  let path = '';
  for (const s of have) {
    const row = rows.get(s);
    for (let i = 0; i < 128; i += 1) {
      if (!((row >> BigInt(i)) & 1n)) continue;
      let len = 1;
      while (i + len < 128 && (row >> BigInt(i + len)) & 1n) len += 1;
      if (s + i < width) path += `M${Number((20 + (s + i) * size).toFixed(1))} ${Number((32 + s * size).toFixed(1))}h${Number((Math.min(len, width - s - i) * size).toFixed(1))}v${size - 0.4}h-${Number((Math.min(len, width - s - i) * size).toFixed(1))}z`;
      i += len;
    }
  }
  d.rect(20, 32, width * size, shown * size, 'zero');
  d.put('path', { d: path, fill: 'var(--one)' });
  d.text(20, 22, `slots 0 to ${width - 1} \u2192`, 'small soft');
  d.text(20, 32 + shown * size + 22, `A row for each of the slots 0 to ${shown - 1}: one equation; its marks are the slots that it adds up.`, 'small soft');
  return d;
}

function levels(nay) {
  const plan = nay.planLsm({ nkeys: 100000000, ratio: 10, bitsPerKey: 5, nkeysMemtable: 100000 });
  const { uniform, monkey } = plan;
  const n = uniform.levels.length;
  const d = new Diagram(W, 90 + n * 62 + 60, 'Bits per key for each level, and the reads they leave',
    `An LSM tree of 100 million keys with 5 bits for each. ${uniform.levels.map((u, i) => `Level ${u.level}, ${count(u.nkeys)} keys: uniform ${u.bitsPerKey.toFixed(2)} bits and ` +
    `${u.absentReads.toFixed(4)} reads, Monkey ${monkey.levels[i].bitsPerKey.toFixed(2)} bits and ${monkey.levels[i].absentReads.toFixed(4)}`).join('; ')}. ` +
    `In all a lookup of an absent key reads ${uniform.absentReads.toFixed(3)} blocks, and ${monkey.absentReads.toFixed(3)} with Monkey's allocation.`);
  const top = Math.max(...monkey.levels.map((l) => l.bitsPerKey), ...uniform.levels.map((l) => l.bitsPerKey));
  const reads = Math.max(...monkey.levels.map((l) => l.absentReads), ...uniform.levels.map((l) => l.absentReads));
  d.rect(20, 14, 12, 12, 'one').text(38, 25, 'uniform', 'small').rect(120, 14, 12, 12, 'b').text(138, 25, 'Monkey', 'small');
  d.text(170, 58, 'bits per key', 'small soft').text(400, 58, 'reads of an absent key', 'small soft');
  uniform.levels.forEach((u, i) => {
    const y = 70 + i * 62;
    d.text(20, y + 18, `level ${u.level}`, 'strong').text(20, y + 38, `${count(u.nkeys)} keys`, 'small soft');
    for (const [j, l, colour] of [[0, u, 'one'], [1, monkey.levels[i], 'b']]) {
      d.rect(170, y + j * 22, Math.max(1, (150 * l.bitsPerKey) / top), 18, colour, 2);
      d.text(176 + (150 * l.bitsPerKey) / top, y + j * 22 + 14, l.bitsPerKey.toFixed(1), 'small');
      d.rect(400, y + j * 22, Math.max(1, (150 * l.absentReads) / reads), 18, colour, 2);
      d.text(406 + (150 * l.absentReads) / reads, y + j * 22 + 14, l.absentReads.toPrecision(2), 'small');
    }
  });
  d.text(20, 70 + n * 62 + 30, 'all', 'strong').text(170, 70 + n * 62 + 30, '5 bits per key, both', 'small');
  d.text(400, 70 + n * 62 + 30, `${uniform.absentReads.toPrecision(2)}, with Monkey ${monkey.absentReads.toPrecision(2)}`, 'strong');
  return d;
}

function prefixes(nay) {
  const keys = ['user00000:', 'user00003:', 'user00006:'];
  const names = keys.map((k) => k.slice(0, -1));
  const filter = nay.Filter.create({ kind: 'bloom', nkeys: 3, bitsPerKey: 8 });
  for (const key of names) filter.add(key);
  const why = filter.explain('user00004');
  const read = until(why);
  const d = new Diagram(W, 350, 'A filter of prefixes: a key of three items is added once',
    `The keys item1, item2 and item3 of ${list(names)} are cut at the colon, so three prefixes are added, not nine keys. ` +
    `${names.map((k) => `${k} sets bits ${list(at(filter.explain(k)))}`).join('; ')}. A scan of all keys of user00004 asks for its prefix: ` +
    (why.maybe ? 'maybe.' : `bit ${at({ steps: read }).pop()} is 0, so the table has no key of that user.`));
  names.forEach((name, i) => {
    const x = 20 + ((W - 40) * (i + 0.5)) / 3;
    d.text(x, 26, `${name}:item1`, 'mid small soft').text(x, 43, `${name}:item2`, 'mid small soft').text(x, 60, `${name}:item3`, 'mid small soft');
    d.line(x, 66, x, 78, 'line', 1.5);
  });
  keysAndBits(d, { filter, keys: names, asked: 'user00004', nbits: 24, top: 94 });
  return d;
}

function compaction(nay) {
  const old = range(0, 19999).map((i) => String(i).padStart(5, '0'));
  const deleted = old.filter((_, i) => i % 2 === 0);
  const left = old.filter((_, i) => i % 2 === 1);
  const build = (keys) => nay.Filter.build(keys, { kind: 'bloom', nkeys: keys.length, bitsPerKey: 10 });
  const [before, gone, after] = [old, deleted, left].map(build);
  const size = (f) => bytes(f.payload().length);
  const wrong = share(after.hasMany(deleted));
  const d = new Diagram(W, 300, 'A compaction builds a new filter, for the keys that are left',
    `A table of ${count(old.length)} keys has a filter of ${size(before)}; ${count(deleted.length)} deletions in a table above it have one of ${size(gone)}. ` +
    `The compaction writes ${count(left.length)} keys with a filter of ${size(after)}, which says maybe to ${rate(wrong)} of the deleted keys. The old filter says maybe to ${rate(share(before.hasMany(deleted)))} of them, and so would a union.`);
  const box = (x, y, width, name, keys, f, note) => {
    d.frame(x, y, width, 84, 'line', 1.5, 8).text(x + 12, y + 24, name, 'strong').text(x + 12, y + 44, `${count(keys.length)} ${note}`, 'small');
    d.rect(x + 12, y + 54, (170 * f.payload().length) / before.payload().length, 16, 'one', 3);
    d.text(x + 20 + (170 * f.payload().length) / before.payload().length, y + 67, size(f), 'small');
  };
  box(20, 26, 280, 'deletions', deleted, gone, 'deletions, newer');
  box(20, 142, 280, 'old table', old, before, 'keys, older');
  d.path('M300 68C350 68 330 126 366 126M300 184C350 184 330 126 366 126', 'b', 2).path('M358 120L368 126L358 132', 'b', 2);
  box(374, 84, 230, 'new table', left, after, 'keys');
  d.text(374, 196, `A deleted key: maybe in ${rate(wrong)}`, 'small').text(374, 214, 'by the new filter, in 100% by a', 'small').text(374, 232, 'union of the old ones.', 'small');
  d.text(20, 268, 'Bars: the bytes of the filters.', 'small soft');
  return d;
}

function links(nay) {
  const plans = range(0, 13).map((i) => nay.Filter.plan({ kind: 'bloom', nkeys: 100 * 2 ** i, fpr: 1 / (200 * 2 ** i) }));
  const each = plans.map((p) => p.bitsPerKey);
  const d = new Diagram(W, 330, 'Each link is twice as large, and stricter than the one before',
    `Bits per item of the 14 links of a Bloom filter that starts with 100 items at 1%: ${each.map((b, i) => `link ${i}, ${count(plans[i].nkeys)} items: ${b.toFixed(1)}`).join('; ')}.`);
  const p = new Plot(d, { left: 50, top: 44, width: W - 70, height: 210,
    x: { min: -0.6, max: 13.6, ticks: range(0, 13), show: String, label: 'link; its items double: 100, 200, 400 … 819,200' },
    y: { min: 0, max: 32, ticks: [0, 10, 20, 30], show: String, label: 'bits per item of this link' } });
  each.forEach((b, i) => {
    p.bar(i, b, 28, i === 0 ? 'c' : 'one');
    d.text(p.atX(i), p.atY(b) - 5, b.toFixed(1), 'small mid');
  });
  d.line(50, p.atY(each[0]), W - 20, p.atY(each[0]), 'c', 1.2, '5 4');
  return d;
}

function exact(nay) {
  const sizes = [5, 10, 20, 50, 100, 200, 500, 1000, 10000];
  const formula = (1 - Math.exp(-0.7)) ** 7;
  const points = sizes.map((n) => [n, nay.Filter.plan({ kind: 'bloom', nkeys: n, nbits: 10 * n, k: 7 }).fpr]);
  const d = new Diagram(W, 310, 'The exact FPR lies above the formula, most for small filters',
    `10 bits per key, k = 7. The formula gives ${rate(formula)} for every size. Exact: ${points.map(([n, p]) => `${rate(p)} with ${count(n)} keys`).join(', ')}.`);
  const p = new Plot(d, { left: 76, top: 40, width: W - 110, height: 210,
    x: { min: 4, max: 12000, log: true, ticks: [5, 10, 100, 1000, 10000], show: count, label: 'keys' },
    y: { min: 0.008, max: 0.0102, ticks: [0.008, 0.0085, 0.009, 0.0095, 0.01], show: (v) => percent(v), label: 'FPR at 10 bits per key, k = 7' } });
  p.curve([[4, formula], [12000, formula]], 'b', '6 4');
  d.text(p.atX(1500), p.atY(formula) + 18, 'the formula', 'small wb');
  p.curve(points, 'a');
  for (const [n, y] of points) p.point(n, y, 'a', [10, 100].includes(n) ? rate(y) : '');
  return d;
}

function bound(nay) {
  const kinds = ['bloom', 'cuckoo', 'xor', 'fuse', 'ribbon'];
  const rates = range(4, 16);
  const cost = (kind, i) => nay.Filter.plan({ kind, nkeys: 1000000, fpr: 2 ** -i }).bitsPerKey;
  const d = new Diagram(W, 360, 'Bits per key of the families, over the least that is possible',
    `A million keys. At an FPR of 1/256 the least is 8 bits per key; ${kinds.map((k) => `${k} takes ${cost(k, 8).toFixed(2)}`).join(', ')}. At 1/65,536, where the least is 16: ` +
    `${kinds.map((k) => `${k} ${cost(k, 16).toFixed(2)}`).join(', ')}.`);
  const p = new Plot(d, { left: 50, top: 40, width: W - 140, height: 260,
    x: { min: 4, max: 16, ticks: range(4, 16, 2), show: (v) => `1/${count(2 ** v)}`, label: 'FPR' },
    y: { min: 0, max: 24, ticks: [0, 4, 8, 12, 16, 20, 24], show: String, label: 'bits per key' } });
  p.curve([[4, 4], [16, 16]], 'soft', '6 4');
  const ends = [...kinds.map((kind, i) => ({ kind, y: cost(kind, 16), colour: ['a', 'b', 'd', 'c', 'ink'][i] })), { kind: 'the least', y: 16, colour: 'soft' }].sort((a, b) => b.y - a.y);
  let before = -100;
  for (const e of ends) {
    if (e.kind !== 'the least') p.curve(rates.map((i) => [i, cost(e.kind, i)]), e.colour);
    before = Math.max(p.atY(e.y) + 4, before + 16);
    d.text(p.atX(16) + 6, before, e.kind, `small ${e.colour === 'ink' ? '' : e.colour === 'soft' ? 'soft' : `w${e.colour}`}`.trim());
  }
  return d;
}

function fnv1a(text) {
  let h = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) h = ((h ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return h;
}

function scattered(nay) {
  const side = 48;
  const places = side * side;
  const keys = range(0, places - 1).map(String);
  const by = (hash) => {
    const used = new Set(keys.map((key) => Number((hash(key) * BigInt(places)) >> 64n)));
    return { used, empty: (places - used.size) / places };
  };
  const fnv = by(fnv1a);
  const xxh = by((key) => nay.hash(key));
  const d = new Diagram(W, 350, `${count(places)} keys on ${count(places)} places, by the high bits of two hashes`,
    `The keys 0 to ${count(places - 1)} as text. By the high bits of FNV-1a alone ${rate(fnv.empty)} of the places stay empty; by those of XXH3, nay's hash, ${rate(xxh.empty)}: about 1/e, as by chance.`);
  const size = 5.6;
  for (const [x, name, { used, empty }] of [[20, 'FNV-1a', fnv], [W - 20 - side * size, 'XXH3', xxh]]) {
    d.rect(x, 24, side * size, side * size, 'zero');
    let path = '';
    for (const i of [...used].sort((a, b) => a - b)) path += `M${Number((x + (i % side) * size).toFixed(1))} ${Number((24 + Math.floor(i / side) * size).toFixed(1))}h${size - 0.8}v${size - 0.8}h-${size - 0.8}z`;
    d.put('path', { d: path, fill: 'var(--one)' });
    d.text(x + (side * size) / 2, 24 + side * size + 28, `${name}: ${rate(empty)} empty`, 'mid');
  }
  return d;
}

export const DIAGRAMS = {
  bits, sizing, 'sizing-overfilled': overfilled, probes, 'double-hashing': doubleHashing, blocked, counting, intersection, fuse: peeling, ribbon: band,
  lsm: levels, prefixes, compaction, redis: links, 'mathematics-rate': exact, 'mathematics-bound': bound, 'mathematics-hash': scattered,
};

/** The file of a diagram in doc/img. */
export const fileOf = (name) => `learn-${name}.svg`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [pack, wasm, out = join(dirname(fileURLToPath(import.meta.url)), '../../doc/img')] = process.argv.slice(2);
  const { load } = await import(pathToFileURL(pack).href);
  const nay = await load({ wasm: readFileSync(wasm), full: true });
  mkdirSync(out, { recursive: true });
  for (const [name, draw] of Object.entries(DIAGRAMS)) writeFileSync(join(out, fileOf(name)), draw(nay).svg());
}
