/*
 * experiments.js - sentences that are often said about filters, each beside a measurement that takes
 * a click. The numbers come from filters that are made, filled and probed in the page.
 */
import { h, announce } from '../dom.js';
import { breathe, room } from '../frames.js';
import { absentLines, keyLines } from '../keys.js';
import { count, percent, wilson } from '../number.js';
import { table } from '../parts.js';
import { plot } from '../plot.js';

const shown = (v) => percent(v, 2);

/* trial: hits and probes of one filter: n keys from `from` on, then absent ones. */
function trial(filter, n, from, probes) {
  try {
    if (n > 0) filter.addLines(keyLines('words', from, n));
    return { hits: filter.countMaybes(absentLines(probes, from * 7)), probes };
  } finally {
    filter.free();
  }
}

/* rate: measured over several filters, with its interval. */
async function rate(make, n, { filters = 1, probes = 200000 } = {}) {
  let hits = 0;
  for (let i = 0; i < filters; i += 1) {
    if (room('probes') < probes || room('keys') < n) await breathe();
    hits += trial(make(), n, i * n, probes).hits;
  }
  const total = filters * probes;
  const [low, high] = wilson(hits, total);
  return { y: hits / total, low, high, hits, total };
}

function row(name, planned, measured) {
  return [name, percent(planned), percent(measured.y), `${percent(measured.low)} to ${percent(measured.high)}`];
}

function rateTable(caption, rows) {
  return table({ label: caption, caption, head: ['filter', '#planned', '#measured', '#95% interval'], rows });
}

async function eightBits(engine) {
  const n = 100000;
  const rows = [];
  for (const bitsPerKey of [8, 10]) {
    const params = { kind: 'bloom', nkeys: n, bitsPerKey };
    rows.push(row(`${bitsPerKey} bits per key`, engine.plan(params).fpr, await rate(() => engine.create(params), n)));
  }
  const one = engine.plan({ kind: 'bloom', nkeys: n, fpr: 0.01 });
  rows.push(
    row(
      `${one.bitsPerKey.toFixed(2)} bits per key`,
      one.fpr,
      await rate(() => engine.create({ kind: 'bloom', nkeys: n, fpr: 0.01 }), n),
    ),
  );
  return [
    h(
      'p',
      null,
      `A Bloom filter of 8 bits per key has an FPR of 2.2%, not 1%. One percent needs ${one.bitsPerKey.toFixed(2)} bits per key.`,
    ),
    rateTable(`Bloom filters of ${count(n)} keys`, rows),
  ];
}

async function manyProbes(engine) {
  const n = 20000;
  const planned = [];
  const measured = [];
  for (let k = 1; k <= 24; k += 1) {
    const params = { kind: 'bloom', nkeys: n, bitsPerKey: 10, k };
    planned.push({ x: k, y: engine.plan(params).fpr });
    if (k % 2 === 1 || k === 24)
      measured.push({ x: k, ...(await rate(() => engine.create(params), n, { probes: 100000 })) });
    await breathe();
  }
  const best = planned.reduce((a, b) => (b.y < a.y ? b : a));
  return [
    h(
      'p',
      null,
      `With 10 bits per key the FPR is least at k = ${best.x} (${percent(best.y)}). At k = 24 it is ${percent(planned[23].y)}: every further probe sets more bits than it checks.`,
    ),
    plot({
      title: 'FPR by the number of probes, 10 bits per key',
      x: { min: 0, max: 25, label: 'k, probes per key', show: (v) => String(Math.round(v)) },
      y: { min: 0.005, max: 0.3, log: true, label: 'FPR', show: shown },
      marks: [{ x: best.x, label: `best: ${best.x}` }],
      series: [
        { label: 'planned', colour: 5, dash: true, points: planned },
        { label: 'measured', colour: 1, dots: true, points: measured },
      ],
    }),
  ];
}

async function doubleHashing(engine) {
  const sizes = [
    [10, 100],
    [20, 60],
    [50, 40],
    [200, 20],
    [1000, 10],
  ];
  const native = [];
  const leveldb = [];
  const planned = [];
  for (const [n, filters] of sizes) {
    const params = { nkeys: n, bitsPerKey: 16 };
    planned.push({ x: n, y: engine.plan({ kind: 'bloom', ...params }).fpr });
    native.push({
      x: n,
      ...(await rate(() => engine.create({ kind: 'bloom', ...params }), n, { filters, probes: 40000 })),
    });
    leveldb.push({ x: n, ...(await rate(() => engine.createAs('leveldb', params), n, { filters, probes: 40000 })) });
    await breathe();
  }
  const times = leveldb[0].y / planned[0].y;
  return [
    h(
      'p',
      null,
      `With double hashing the probes of a key are an arithmetic progression, and in a small array progressions of different keys coincide. LevelDB's filter of 10 keys and 16 bits per key has ${times.toFixed(0)} times the FPR of the formula; nay's own Bloom filter keeps to it. With thousands of keys the difference goes away.`,
    ),
    plot({
      title: 'FPR of small filters, 16 bits per key',
      x: { min: 8, max: 1200, log: true, label: 'keys in the filter', show: (v) => count(v) },
      y: { min: 1e-4, max: 0.02, log: true, label: 'FPR', show: shown },
      series: [
        { label: 'formula', colour: 5, dash: true, points: planned },
        { label: 'LevelDB', name: 'LevelDB: double hashing', colour: 2, dots: true, points: leveldb },
        { label: 'nay bloom', colour: 1, dots: true, points: native },
      ],
    }),
  ];
}

async function twiceTheKeys(engine) {
  const n = 50000;
  const params = { kind: 'bloom', nkeys: n, fpr: 0.01 };
  const plan = engine.plan(params);
  const rows = [];
  for (const times of [1, 1.5, 2, 3, 4]) {
    const planned = engine.plan({ kind: 'bloom', nkeys: n * times, nbits: plan.nbits, k: plan.k }).fpr;
    rows.push(
      row(`${times} times the keys`, planned, await rate(() => engine.create(params), n * times, { probes: 100000 })),
    );
    await breathe();
  }
  return [
    h(
      'p',
      null,
      'Twice the keys do not double the FPR of a Bloom filter: k bits must be set by chance, so it grows with nearly the k-th power of the fill.',
    ),
    rateTable(`A Bloom filter planned for ${count(n)} keys at 1%`, rows),
  ];
}

async function cacheLine(engine) {
  const n = 50000;
  const series = [];
  for (const [kind, colour] of [
    ['bloom', 1],
    ['blocked', 2],
  ]) {
    const planned = [];
    const measured = [];
    for (let bits = 6; bits <= 24; bits += 1)
      planned.push({ x: bits, y: engine.plan({ kind, nkeys: n, bitsPerKey: bits }).fpr });
    for (const bits of [6, 8, 10, 12, 14])
      measured.push({ x: bits, ...(await rate(() => engine.create({ kind, nkeys: n, bitsPerKey: bits }), n)) });
    series.push(
      { label: kind, name: `${kind}, planned`, colour, points: planned },
      { label: `${kind}, measured`, silent: true, colour, dots: true, points: measured.filter((p) => p.hits > 0) },
    );
    await breathe();
  }
  const at = (i, x) => series[i].points.find((p) => p.x === x).y;
  return [
    h(
      'p',
      null,
      `Some cache lines get more keys than others, and those answer for most of the false positives. At 10 bits per key this costs little (${percent(at(0, 10))} against ${percent(at(2, 10))}); at 24 bits per key the blocked filter has ${(at(2, 24) / at(0, 24)).toFixed(0)} times the FPR. It reads one cache line where the classic one reads up to ${engine.plan({ kind: 'bloom', nkeys: n, bitsPerKey: 24 }).k}.`,
    ),
    plot({
      title: 'The price of one cache line',
      x: { min: 5, max: 25, label: 'bits per key', show: (v) => String(v) },
      y: { min: 5e-6, max: 0.1, log: true, label: 'FPR', show: shown },
      series,
    }),
  ];
}

async function wrongRemoval(engine) {
  const n = 20000;
  const filter = engine.create({ kind: 'counting', nkeys: n, fpr: 0.05 });
  try {
    const keys = keyLines('words', 0, n);
    filter.addLines(keys);
    const absent = 20000;
    let removed = 0;
    for (let i = 0; i < absent; i += 1) {
      const key = `?never added ${i}`;
      if (!filter.has(key)) continue;
      if (filter.remove(key)) removed += 1;
      if (i % 4096 === 4095) await breathe();
    }
    const lost = n - filter.countMaybes(keys);
    return [
      h(
        'p',
        null,
        `Of ${count(absent)} keys that were never added, ${count(removed)} were a maybe (false positives). Removing those took away bits of others: ${count(lost)} of ${count(n)} keys that are in the set are now a nay. That is the one thing a filter must never do, so remove only what you know was added.`,
      ),
      h('div', { class: 'bar over' }, h('i', { style: `width: ${(100 * lost) / n}%` })),
      h('p', { class: 'note' }, `${percent(lost / n)} of the keys are lost.`),
    ];
  } finally {
    filter.free();
  }
}

const EXPERIMENTS = [
  { id: 'eight', said: '\u201c8 bits per key give 1%.\u201d', about: 'They give 2.2%.', run: eightBits },
  {
    id: 'k',
    said: '\u201cMore hash functions are better.\u201d',
    about: 'Up to a point; then they hurt.',
    run: manyProbes,
  },
  {
    id: 'double',
    said: '\u201cDouble hashing costs nothing.\u201d',
    about: 'In small filters it does.',
    run: doubleHashing,
  },
  { id: 'twice', said: '\u201cTwice the keys, twice the FPR.\u201d', about: 'It is far worse.', run: twiceTheKeys },
  { id: 'line', said: '\u201cOne cache line is free.\u201d', about: 'It has a price at low rates.', run: cacheLine },
  { id: 'remove', said: '\u201cJust remove the key.\u201d', about: 'Unless it was never added.', run: wrongRemoval },
];

export class Experiments {
  constructor(engine, notices, changed) {
    this.engine = engine;
    this.notices = notices;
    this.changed = changed;
    this.current = null;
    this.out = h('div');
    this.run = notices.guard((e) => this.perform(e));
    this.element = h(
      'div',
      { class: 'stack' },
      h(
        'div',
        { class: 'cards extra' },
        EXPERIMENTS.map((e) =>
          h(
            'button',
            { type: 'button', class: 'card', 'data-experiment': e.id, onclick: () => this.run(e) },
            h('b', null, e.said),
            h('span', null, e.about),
          ),
        ),
      ),
      this.out,
    );
  }

  /* open: an experiment by its name, from a permalink. */
  open(id) {
    const found = EXPERIMENTS.find((e) => e.id === id);
    if (!found && id !== null) this.notices.say(`The link asks for '${id.slice(0, 20)}': there is no such experiment.`, true);
    return found ? this.run(found) : null;
  }

  async perform(experiment) {
    this.out.replaceChildren(h('div', { class: 'panel' }, h('p', { class: 'note' }, 'Measuring\u2026')));
    await breathe();
    const parts = await experiment.run(this.engine);
    this.out.replaceChildren(
      h('div', { class: 'panel stack', 'data-result': experiment.id }, h('h3', null, experiment.said), parts),
    );
    this.current = experiment.id;
    announce(parts[0].textContent);
    this.changed();
  }
}
