// Every sentence and every number that the playground shows about a family, against the library, in every family of
// the registry, in scenes drawn at random: keys added, asked for, removed, expired, more than planned. The page is
// driven in Chromium; beside it a filter of the same plan is driven here, with a record of what was done to each key.
// NAY_SEED=n draws other scenes, NAY_SCENES more of them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { finish, library, packageDirectory, report, source } from './support.mjs';
import { openPlayground } from './page.mjs';

const { bytes, count, percent } = await import(join(source, 'web/playground/number.js'));
const nay = await library({ wasm: readFileSync(join(packageDirectory, '../libnay-trace.wasm')), full: true });
const KINDS = nay.kinds; // that keys, their number and an FPR are enough for; the others are only opened: "look inside" below
const seed = Number(process.env.NAY_SEED ?? 33);
const SCENES = Number(process.env.NAY_SCENES ?? 4); // for each family
const OPERATIONS = 7; // in each scene
const GENERATIONS = 3;

function randomFrom(start) {
  let a = start >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
let random = Math.random;
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];

class Wrong extends Error {}
const same = (got, wanted, what) => {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Wrong(`${what}: the page has ${JSON.stringify(got)}, the library ${JSON.stringify(wanted)}`);
};
const right = (value, what) => {
  if (!value) throw new Wrong(what);
};

const readBits = (data, bit, n) => {
  let value = 0n;
  for (let i = 0; i < n; i += 1) value |= BigInt((data[(bit + i) >> 3] >> ((bit + i) & 7)) & 1) << BigInt(i);
  return value;
};

/* The filter beside the page, and what was done to each key. */
class Model {
  constructor(params) {
    this.params = params;
    this.traits = nay.traits(params.kind);
    this.adds = []; // {key, emptied}: those that were not removed
    this.removed = new Set();
    this.emptied = 0;
    this.clock = 0;
    this.filter = this.traits.add ? nay.Filter.create(params) : null;
    if (params.window) this.filter.advance(0);
  }

  did(run) {
    const { value, events } = nay.trace(run, { capacity: 4096 });
    for (const e of events)
      if (e.event === 'windowExpired') this.emptied += [...BigInt(e.generations).toString(2)].filter((b) => b === '1').length;
    return value;
  }

  /* add: false when the filter is full. */
  add(key) {
    if (this.traits.add) {
      try {
        this.did(() => this.filter.add(key));
      } catch (error) {
        if (error.statusName === 'EFULL') return false;
        throw error;
      }
    }
    this.adds.push({ key, emptied: this.emptied });
    this.removed.delete(key);
    return true;
  }

  build() {
    if (this.traits.add) return;
    this.filter?.free();
    this.filter = nay.Filter.build(this.keys(), this.params);
  }

  removeLast() {
    const { key } = this.adds.pop();
    this.filter.remove(key);
    if (!this.adds.some((a) => a.key === key)) this.removed.add(key);
  }

  tick() {
    this.clock += 1;
    this.did(() => this.filter.advance(this.clock));
  }

  lives(add) {
    return !this.traits.expire || this.emptied - add.emptied <= GENERATIONS;
  }

  keys() {
    return this.adds.filter((a) => this.lives(a)).map((a) => a.key);
  }

  expired() {
    const live = new Set(this.keys());
    return [...new Set(this.adds.filter((a) => !live.has(a.key)).map((a) => a.key))];
  }

  status(key) {
    if (this.keys().includes(key)) return 'in';
    if (this.adds.some((a) => a.key === key)) return 'expired';
    return this.removed.has(key) ? 'removed' : 'never';
  }
}

/* What the page shows, in one call. */
const look = (page) =>
  page.evaluate(() => {
    const w = nayPlayground.views.get('work');
    const text = (e) => e.textContent;
    const { stage, player } = w;
    return {
      notice: w.notices.element.textContent,
      payload: [...w.filter.payload()],
      shown: [...stage.shown],
      groups: stage.groups.map(({ first, base, width, ncells, hues, label }) => ({ first, base, width, ncells, hues, label })),
      facts: w.facts.textContent,
      label: stage.canvas.getAttribute('aria-label'),
      chips: [...w.chips.querySelectorAll('.chip')].map(text),
      rest: w.chips.querySelector('.note')?.textContent ?? '',
      gone: [...w.gone.querySelectorAll('.chip')].map(text),
      goneText: w.gone.querySelector('.note')?.textContent ?? '',
      legend: [...w.legend.children].map(text),
      answer: w.answer.querySelector('[data-answer]')?.dataset.answer ?? null,
      told: w.answer.textContent,
      blame: [...w.blamed.querySelectorAll('tbody tr')].map((tr) => ({
        name: tr.children[0].textContent,
        keys: [...tr.querySelectorAll('.chip')].map(text),
        more: tr.children[1].textContent,
      })),
      blameNote: w.blamed.querySelector('.note')?.textContent ?? '',
      untold: player.script.untold ?? 0,
      script: player.script.slice(0, 1200).map((s) => ({
        text: s.text,
        marks: (s.marks ?? []).map((m) => m.bit),
        writes: s.writes ?? [],
        decided: s.decided ?? false,
      })),
    };
  });

// ---- the picture and what stands below it ----

const shapeOf = (explanations) =>
  explanations.flatMap((e) => e.steps).find((s) => s.nbits > 0 && !['constant', 'xor'].includes(s.kind))?.kind ?? 'none';

function checkPicture(seen, model, probes) {
  same(seen.payload.length, model.filter.payload().length, 'bytes of the payload');
  right(Buffer.from(seen.payload).equals(Buffer.from(model.filter.payload())), 'the page has another filter');
  for (const g of seen.groups)
    for (let i = 0; i < g.ncells; i += 1) {
      const bit = g.base + i * g.width;
      right(readBits(seen.shown, bit, g.width) === readBits(seen.payload, bit, g.width), `the cell at bit ${bit} is drawn wrong`);
    }
  const inside = (bit) => seen.groups.find((g) => bit >= g.base && bit < g.base + g.ncells * g.width);
  const reached = new Set();
  for (const e of probes)
    for (const s of e.steps) {
      if (s.nbits === 0 || ['constant', 'xor'].includes(s.kind)) continue;
      const g = inside(s.bit);
      right(g, `bit ${s.bit} is read and not drawn`);
      right(s.kind === 'column' || (s.bit - g.base) % g.width === 0, `bit ${s.bit} is not the start of a cell`);
      reached.add(g.base);
      if (s.nbits2 > 0) reached.add(inside(s.bit2)?.base);
    }
  if (seen.groups.length <= 60)
    for (const g of seen.groups) right(reached.has(g.base), `${g.label || 'a group'} at bit ${g.base} is drawn, and no key reaches it`);
  if (seen.groups.length === 1 && seen.groups[0].ncells <= 256 && shapeOf(probes) !== 'column') {
    const [g] = seen.groups;
    const cells = new Set(probes.flatMap((e) => e.steps.map((s) => s.bit)));
    for (let i = 0; i < g.ncells; i += 1) right(cells.has(g.base + i * g.width), `cell ${i} is drawn, and no key reaches it`);
  }
}

function checkFacts(seen, model, probes) {
  const s = model.filter.stats();
  const parsed = /^([\d,]+) keys? in (.+?)(, with a counter for each bit)?: (.+?)\. An absent key is a maybe with a chance of (.+?)(: overloaded)?\.$/.exec(
    seen.facts,
  );
  right(parsed, `what stands below the picture: ${seen.facts}`);
  const [, n, size, , inner, chance, over] = parsed;
  same(n, count(model.keys().length), 'keys');
  same(size, bytes(model.filter.payload().length), 'bytes');
  same(chance, percent(s.fprNow), 'the FPR');
  same(over !== undefined, s.overloaded, 'overloaded');
  const cells = seen.groups.flatMap((g) => Array.from({ length: g.ncells }, (_, i) => readBits(seen.payload, g.base + i * g.width, g.width)));
  const taken = cells.filter((v) => v !== 0n).length;
  const shape = shapeOf(probes);
  const share = percent(cells.length ? taken / cells.length : 0);
  const wanted = {
    bit: `${count(cells.length)} bits${s.k && !model.traits.grow ? `, k = ${s.k}` : ''}; ${count(taken)} of them are 1, ${share}`,
    fingerprint: `${count(cells.length)} slots of ${seen.groups[0]?.width} bits; ${count(taken)} are taken, ${share}`,
    slot: `${count(cells.length)} slots of ${seen.groups[0]?.width} bits`,
    column: `${count(cells.length)} bits of the solution`,
    none: 'nothing to read',
  }[shape];
  same(inner, wanted, 'counted in the picture');
  if (model.traits.add && (shape === 'bit' || shape === 'fingerprint')) same(share, percent(s.fill), 'the fill');
  right(seen.label.endsWith(seen.facts), 'the text of the picture has other facts');
}

function checkKeys(seen, model) {
  const keys = model.keys();
  same(seen.chips, keys.slice(-200), 'keys in the filter');
  same(seen.gone, model.expired().slice(-40), 'keys that have expired');
  if (keys.length > 200) right(seen.rest.includes(count(keys.length - 200)), seen.rest);
  if (seen.goneText) right(seen.goneText.startsWith(`${count(model.expired().length)} key`), seen.goneText);
  const newest = seen.legend.filter((t) => t.includes('the newest'));
  if (seen.groups[0]?.hues) same(newest.length, 1, 'newest generations in the legend');
}

// ---- steps ----

/* bitNamed: the bit of the payload that a sentence names, by the picture. */
function bitNamed(text, seen) {
  const bit = Number(/\bbit (\d+)/.exec(text)[1]);
  const unit = /(?:cache line|unit|block) (\d+)/.exec(text);
  if (!unit) return seen.groups[0].base + bit;
  const level = /\blevel (\d+)/.exec(text);
  if (!level) return seen.groups[Number(unit[1])].base + bit;
  const named = seen.groups.findIndex((g) => g.label === `level ${level[1]}`);
  right(named >= 0 || level[1] === '0', `“${text}”: the picture has no such level`);
  const first = Math.max(0, named);
  return seen.groups[first + Number(unit[1])].base + bit;
}

/* checkChange: what an add or a removal is said to change, one step after the other. */
function checkChange(seen, before, model) {
  same(seen.untold, 0, 'cells that changed without a step');
  if (before.length !== seen.payload.length || seen.script.some((s) => / opens /.test(s.text))) return; // laid out anew
  const state = Buffer.from(before);
  let fresh = 0;
  let told = 0;
  for (const step of seen.script) {
    const single = /bit \d+ (becomes 1|is 1 already)/.exec(step.text);
    if (single) {
      const bit = bitNamed(step.text, seen);
      same(readBits(state, bit, 1) === 0n, single[1] === 'becomes 1', `“${step.text}”, before it`);
      same(step.writes.map((w) => [w.bit, w.value]), [[bit, 1]], `“${step.text}”, what it draws`);
      told += 1;
      fresh += single[1] === 'becomes 1' ? 1 : 0;
    }
    const counter = /, bit \d+: its counter (?:is now (\d+)|becomes 0)/.exec(step.text);
    if (counter) {
      const bit = bitNamed(step.text, seen);
      same(Number(readBits(state, bit, 1)) + (counter[1] === '1' ? 1 : 0) >= 1, true, `“${step.text}”`);
    }
    const slot = /fingerprint ([0-9a-f]+) (goes into|is taken out of) bucket (\d+), slot (\d+)/.exec(step.text);
    if (slot) {
      const g = seen.groups[Number(slot[3])];
      const bit = g.base + Number(slot[4]) * g.width;
      const put = slot[2] === 'goes into';
      right(put || readBits(state, bit, g.width) === BigInt(`0x${slot[1]}`), `“${step.text}”: it is not there`);
      right(!put || readBits(state, bit, g.width) === 0n, `“${step.text}”: the slot is not empty`);
    }
    for (const w of step.writes)
      for (let i = 0; i < w.nbits; i += 1) {
        const b = w.bit + i;
        const mask = 1 << (b & 7);
        if (Math.floor(w.value / 2 ** i) % 2 === 1) state[b >> 3] |= mask;
        else state[b >> 3] &= ~mask;
      }
  }
  const sum = /: (\d+) of (\d+) bits are new\.$/.exec(seen.script[seen.script.length - 1]?.text ?? '');
  if (sum && told > 0) same([Number(sum[1]), Number(sum[2])], [fresh, told], 'bits that are new');
  for (const g of seen.groups)
    for (let i = 0; i < g.ncells; i += 1) {
      const bit = g.base + i * g.width;
      right(readBits(state, bit, g.width) === readBits(model.filter.payload(), bit, g.width), `after the steps bit ${bit} is wrong`);
    }
}

const BECAUSE = {
  maybe: { in: /a key that is in is never a nay\.$/, removed: /removed again: now it is a false positive\.$/, expired: /has expired: now it is a false positive\.$/, never: /was never added: a false positive\.$/ },
  nay: { removed: /added, and removed again\.$/, expired: /added, and has expired\.$/, never: /certainly (not in|never added)\.$/ },
};

function checkAnswer(seen, model, key) {
  const why = model.filter.explain(key);
  const maybe = model.filter.has(key);
  const status = model.status(key);
  same(seen.answer, maybe ? 'maybe' : 'nay', `the answer for ${key}`);
  right(!(status === 'in' && !maybe), `a false nay for ${key}`);
  const word = maybe ? 'maybe' : 'nay';
  for (const [name, pattern] of Object.entries(BECAUSE[word]))
    same(pattern.test(seen.told), name === status, `“${seen.told}” of a key that is ${status}: ${name}`);
  if (model.traits.remove || model.traits.expire) right(!/never forgets|certainly never added/.test(seen.told), seen.told);
  const zero = /: (?:.*, )?bit (\d+) is 0, and one is enough/.exec(seen.told);
  if (zero) {
    const bit = bitNamed(seen.told.replace(/^.*?: /, ''), seen);
    right(why.steps.some((s) => s.bit === bit && s.found === 0n), `“${seen.told}”: bit ${bit} is not one that it read as 0`);
  }
  checkProbe(seen, why, model, key);
  checkBlame(seen, why, model, status, maybe);
}

function checkProbe(seen, why, model, key) {
  right(seen.script[0].text.includes(model.filter.hash(key).toString(16).padStart(16, '0')), `the hash: ${seen.script[0].text}`);
  const steps = seen.script.slice(1, 1 + why.steps.length);
  const failed = new Set();
  for (const [i, step] of why.steps.entries()) {
    const shown = steps[i];
    if (!shown) break; // more steps than were looked at
    const decided = failed.has(step.group) || (why.maybe && step.group > why.group);
    same(shown.text.endsWith('(not needed: the answer is decided)'), decided, `“${shown.text}” of step ${i}`);
    if (decided) same(shown.marks, [], `rings of “${shown.text}”`);
    else if (step.kind !== 'column' && step.nbits > 0 && step.kind !== 'xor') same(shown.marks, [step.bit], `the ring of “${shown.text}”`);
    if (step.kind === 'bit') {
      same(bitNamed(shown.text, seen), step.bit, `the bit of “${shown.text}”`);
      same(/ is ([01])/.exec(shown.text)[1], String(step.found), `“${shown.text}”`);
      const held = /counter is (\d+)/.exec(shown.text);
      if (held) same(Number(held[1]), step.counter, `“${shown.text}”`);
      const age = /of age (\d+)/.exec(shown.text);
      if (age) {
        same(Number(age[1]), step.level, `the age in “${shown.text}”`);
        const number = Number(/generation (\d+),/.exec(shown.text)[1]);
        same(seen.legend[number].endsWith(step.level === 0 ? 'the newest' : `of age ${step.level}`), true, `“${shown.text}” and the legend`);
        same((step.bit - step.unitBit) % seen.groups[0].hues, number, `the colour of “${shown.text}”`);
      }
    } else if (step.kind === 'fingerprint' || step.kind === 'slot') {
      const slot = /(\d+), slot (\d+)/.exec(shown.text);
      const g = seen.groups.length > 1 ? seen.groups[Number(slot[1])] : null;
      if (g) same(g.base + Number(slot[2]) * g.width, step.bit, `the slot of “${shown.text}”`);
      if (step.found !== 0n || step.kind === 'slot')
        right(shown.text.includes(step.found.toString(16).padStart(Math.ceil(step.nbits / 4), '0')), `“${shown.text}”`);
      else right(shown.text.includes('empty'), `“${shown.text}”`);
    } else if (step.kind === 'column')
      right(shown.text.includes(`selected slots is ${step.found}, its fingerprint has ${step.expected}`), `“${shown.text}”`);
    if (!step.ok) failed.add(step.group);
  }
}

function checkBlame(seen, why, model, status, maybe) {
  if (!maybe || status === 'in') {
    same([seen.blame, seen.blameNote], [[], ''], 'nobody is to blame');
    return;
  }
  const steps = why.steps.filter((s) => s.group === why.group && ['bit', 'fingerprint', 'slot'].includes(s.kind));
  same(seen.blame.length, steps.length, 'what is explained of a false positive');
  if (steps.length === 0) {
    same(/one key in ([\d,]+)\./.exec(seen.blameNote)[1], count(2 ** why.steps.length), 'the chance of a false positive');
    return;
  }
  const keys = model.keys();
  const has = (key, step) => model.filter.explain(key).steps.some((s) => s.bit === step.bit && s.ok);
  for (const [i, step] of steps.entries()) {
    const row = seen.blame[i];
    const more = Number((/ and ([\d,]+) more/.exec(row.more)?.[1] ?? '0').replace(/,/g, ''));
    for (const key of row.keys) {
      right(keys.includes(key), `${row.name} is blamed on ${key}, which is ${model.status(key)}`);
      right(has(key, step), `${row.name} is blamed on ${key}, which does not have it`);
      if (model.traits.expire) {
        const last = model.adds.filter((a) => a.key === key).map((a) => model.emptied - a.emptied);
        right(last.includes(step.level), `${row.name} of age ${step.level} is blamed on ${key}, of ages ${last}`);
      }
    }
    if (why.ngroups === 1)
      same(row.keys.length + more, new Set(keys.filter((key) => has(key, step))).size, `how many keys have ${row.name}`);
    else if (step.kind === 'bit') right(row.keys.length > 0, `${row.name} is set, and by nobody`);
  }
}

/* checkCells: what the picture says of some of its cells. */
async function checkCells(page, seen, model) {
  if (seen.groups.length === 0) return;
  const all = seen.groups[seen.groups.length - 1];
  const cells = Array.from({ length: 6 }, () => below(all.first + all.ncells));
  const told = await page.evaluate((list) => list.map((cell) => nayPlayground.views.get('work').describe(cell)), cells);
  for (const [i, cell] of cells.entries()) {
    const g = seen.groups.findLast((x) => x.first <= cell);
    const bit = g.base + (cell - g.first) * g.width;
    const value = readBits(seen.payload, bit, g.width);
    right(new RegExp(`^(bit|slot) ${cell - g.first}\\b.*?(is|:) ${value.toString(16)}\\b`).test(told[i]), `“${told[i]}”, and it is ${value.toString(16)}`);
    const keys = (/: ([^:]*)$/.exec(told[i])?.[1] ?? '').replace(/ and \d+ more$/, '').split(', ');
    for (const key of g.width === 1 && told[i].includes(':') ? keys : [])
      right(model.filter.explain(key).steps.some((s) => s.bit === bit), `“${told[i]}”: not ${key}`);
  }
}

// ---- scenes ----

/* drawPlan: the fields of a link. */
function drawPlan(kind) {
  const n = pick([1, 5, 12, 40, 90, 200, 400]);
  const by = pick(['fpr', 'fpr', 'bits', 'm']);
  const fields = { kind, n, by, fpr: pick([0.3, 0.1, 0.05, 0.01, 0.001]), bits: pick([4, 8, 12, 24]), m: pick([64, 1000, 1024, 4096]), k: pick([0, 0, 0, 3, 5]) };
  if (nay.traits(kind).expire) fields.time = pick(['keys', 'ticks']);
  return fields;
}

/* paramsOf: the plan that those fields mean, by the same rules as the README of the page states. */
function paramsOf(f) {
  const can = (params, name) => {
    try {
      const plan = nay.Filter.plan({ kind: f.kind, nkeys: 1000, ...params });
      return name === null || plan[name] === params[name];
    } catch {
      return false;
    }
  };
  const params = { kind: f.kind, nkeys: f.n };
  if (f.by === 'm' && can({ nbits: 1 << 16 }, null)) params.nbits = f.m;
  else if (f.by === 'bits' && can({ bitsPerKey: 32 }, null)) params.bitsPerKey = f.bits;
  else params.fpr = f.fpr;
  if (f.k > 0 && can({ fpr: 0.01, k: 3 }, 'k') && can({ fpr: 0.01, k: 4 }, 'k')) params.k = f.k;
  if (nay.traits(f.kind).expire) {
    params.generations = GENERATIONS;
    if (f.time === 'ticks') params.window = GENERATIONS;
  }
  return params;
}

async function openScene(page, fields, keys) {
  const hash = new URLSearchParams({ ...fields, keys: keys.length > 0 ? keys.join('\n') : '\n' });
  await page.evaluate((h) => {
    location.hash = '';
    history.replaceState(null, '', h);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }, `#work?${hash}`);
}

const HOSTILE = ['', ' ', '\u{1f34e}', 'a'.repeat(30), '<b>', '0'];

async function scene(page, kind, at) {
  random = randomFrom(seed * 1000003 + at * 7919 + [...kind].reduce((a, c) => a * 31 + c.charCodeAt(0), 7));
  const fields = drawPlan(kind);
  const first = Array.from({ length: below(Math.ceil(1.4 * fields.n) + 1) }, (_, i) => `key ${i}`);
  const params = paramsOf(fields);
  const log = [`${JSON.stringify(fields)}, ${first.length} keys`];
  let model;
  try {
    model = new Model(params);
    for (const key of first) if (!model.add(key)) throw new Error('full');
    model.build();
  } catch {
    await openScene(page, fields, first);
    const said = await page.evaluate(() => nayPlayground.views.get('work').notices.element.textContent);
    right(said !== '', `${log[0]}: the library refuses it, and the page says nothing`);
    return 0;
  }
  let checked = 0;
  try {
    await openScene(page, fields, first);
    const settled = async (before, key = null) => {
      const seen = await look(page);
      const probes = Array.from({ length: 900 }, (_, i) => model.filter.explain(`probe ${i}`));
      checkPicture(seen, model, probes);
      checkFacts(seen, model, probes);
      checkKeys(seen, model);
      if (before) checkChange(seen, before, model);
      if (key !== null) checkAnswer(seen, model, key);
      checked += 1;
      return seen;
    };
    let seen = await settled(null);
    await checkCells(page, seen, model);
    const call = (run, argument) => page.evaluate(`(async () => { const w = nayPlayground.views.get('work'); await (${run})(w, ${JSON.stringify(argument ?? null)}); })()`);
    for (let i = 0; i < OPERATIONS; i += 1) {
      const before = seen.payload;
      const operation = pick(['add', 'again', 'many', 'ask', 'ask', 'false', 'overfill', ...(model.traits.remove ? ['remove', 'remove'] : []), ...(params.window ? ['tick', 'tick'] : [])]);
      log.push(operation);
      if (operation === 'add' || operation === 'again') {
        const known = [...model.keys(), ...model.expired(), ...model.removed];
        const key = operation === 'again' && known.length > 0 ? pick(known) : `new ${i} ${below(1000)}`;
        log.push(key);
        if (!model.add(key)) {
          const was = await page.evaluate(async (k) => { const w = nayPlayground.views.get('work'); try { await w.add(k); return ''; } catch (e) { return e.statusName; } }, key);
          same(was, 'EFULL', 'a full filter');
          continue;
        }
        model.build();
        await call('(w, k) => w.add(k)', key);
        seen = await settled(model.traits.add ? before : null);
      } else if (operation === 'many' || operation === 'overfill') {
        const n = operation === 'many' ? 10 : Math.min(500, Math.max(2, fields.n));
        const keys = await page.evaluate((m) => nayPlayground.views.get('work').fresh(m), n);
        for (const key of keys) if (!model.add(key)) break;
        model.build();
        await call('(w, m) => w.addMany(m)', n);
        seen = await settled(model.traits.add ? before : null);
      } else if (operation === 'remove') {
        if (model.adds.length === 0) continue;
        model.removeLast();
        await call('(w) => w.removeLast()');
        seen = await settled(before);
      } else if (operation === 'tick') {
        model.tick();
        await call('(w) => w.tick()');
        seen = await settled(before);
      } else {
        const pools = [model.keys(), model.expired(), [...model.removed], HOSTILE, [`absent ${below(1e6)}`]].filter((p) => p.length > 0);
        let key = pick(pick(pools));
        if (operation === 'false')
          for (let j = 0; j < 3000; j += 1)
            if (model.filter.has(`false ${j}`)) {
              key = `false ${j}`;
              break;
            }
        log.push(key);
        await call('(w, k) => w.ask(k)', key);
        seen = await settled(null, key);
      }
      if (i === OPERATIONS - 1) await checkCells(page, seen, model);
    }
    // keys of every status, whatever was drawn: some removed, some expired
    for (let i = 0; i < 6 && model.expired().length === 0 && model.traits.expire; i += 1) {
      log.push('until some expire');
      if (params.window) {
        model.tick();
        await call('(w) => w.tick()');
      } else {
        const n = Math.min(500, Math.max(2, fields.n));
        for (const key of await page.evaluate((m) => nayPlayground.views.get('work').fresh(m), n)) if (!model.add(key)) break;
        await call('(w, m) => w.addMany(m)', n);
      }
    }
    if (model.traits.remove && model.adds.length > 1) {
      log.push('remove');
      model.removeLast();
      await call('(w) => w.removeLast()');
    }
    for (const pool of [model.expired(), [...model.removed], model.keys(), ['certainly absent']])
      for (const key of [...new Set([pool[0], pool[pool.length - 1]])].filter((k) => k !== undefined)) {
        log.push(key);
        await call('(w, k) => w.ask(k)', key);
        await settled(null, key);
      }
  } catch (error) {
    error.message = `${log.join(' | ')}\n${error.message}`;
    throw error;
  } finally {
    model.filter?.free();
  }
  return checked;
}

const { page, close, faults } = await openPlayground({ reducedMotion: 'reduce' });
console.log(`# seed ${seed}`);
for (const kind of KINDS) {
  let fault = null;
  let checked = 0;
  try {
    for (let i = 0; i < SCENES; i += 1) checked += await scene(page, kind, i);
    if (faults.length > 0) throw new Error(faults.join('\n'));
    if (checked === 0) throw new Error('no scene could be drawn');
  } catch (error) {
    fault = error instanceof Wrong ? error.message : error.stack;
  }
  faults.length = 0;
  report(fault, `${kind}: ${SCENES} scenes, what the page says is what the library does`);
  if (!fault) console.log(`# ${checked} states checked`);
}

// ---- the other views, for every family ----

const figures = (selector) =>
  page.evaluate(
    (s) => Object.fromEntries([...document.querySelectorAll(`${s} .figures > div`)].map((d) => [d.children[0].textContent, [d.children[1].firstChild.textContent, d.querySelector('small')?.textContent ?? '']])),
    selector,
  );

async function wrongIn(run) {
  try {
    await run();
    return faults.length > 0 ? faults.splice(0).join('\n') : null;
  } catch (error) {
    return error instanceof Wrong ? error.message : error.stack;
  }
}

for (const kind of KINDS.filter((k) => nay.traits(k).add)) {
  const fault = await wrongIn(async () => {
    for (const [n, fpr, times] of [[50, 0.1, 1], [3000, 0.01, 2], [20000, 0.001, 0.4]]) {
      await page.evaluate((h) => {
        history.replaceState(null, '', h);
        dispatchEvent(new HashChangeEvent('hashchange'));
      }, `#overfill?kind=${kind}&n=${n}&fpr=${fpr}&amount=${Math.round(n * times)}`);
      await page.evaluate(() => nayPlayground.views.get('overfill').load(nayPlayground.views.get('overfill').amount.value));
      const shown = await figures('#view-overfill');
      const oracle = nay.Filter.open(new Uint8Array(await page.evaluate(() => [...nayPlayground.views.get('overfill').filter.encode()])));
      const s = oracle.stats();
      const plan = nay.Filter.plan({ kind, nkeys: n, fpr });
      const why = oracle.explain('');
      const slots = why.steps[0]?.kind === 'fingerprint';
      const all = s.fill > 0 ? s.nbitsSet / s.fill : 0;
      same(shown['FPR by these bits'][0], percent(s.fprNow), `${kind}: FPR by these bits`);
      same(shown['FPR planned'][0], percent(plan.fpr), `${kind}: FPR planned`);
      same(shown[slots ? 'Slots taken' : 'Bits set'], [percent(s.fill), `of ${count(slots ? all / why.steps[0].nbits : all)} ${slots ? 'slots' : 'bits'}, in ${bytes(plan.nbytes)}`], `${kind}: fill`);
      same(shown['Keys, estimated from the bits'][0], (s.saturated ? 'at least ' : '') + count(s.nkeysEstimated), `${kind}: estimate`);
      oracle.free();
    }
  });
  report(fault, `overfill, ${kind}: its figures are the library's`);
}

report(
  await wrongIn(async () => {
    for (const [n, by, value] of [[1e6, 'fpr', 0.01], [1e8, 'bits', 10], [1000, 'memory', 65536]]) {
      const name = { fpr: 'fpr', bits: 'bitsPerKey', memory: 'nbytes' }[by];
      await page.evaluate((h) => {
        history.replaceState(null, '', h);
        dispatchEvent(new HashChangeEvent('hashchange'));
      }, `#plan?n=${n}&by=${by}&${by}=${value}`);
      const rows = await page.evaluate(() => [...document.querySelectorAll('#view-plan tbody tr')].map((tr) => [...tr.children].map((c) => c.textContent)));
      same(rows.length, KINDS.length, 'families');
      for (const [kind, ...cells] of rows) {
        let plan = null;
        try {
          plan = nay.Filter.plan({ kind, nkeys: n, [name]: value });
        } catch (error) {
          same(cells[0], `not possible: ${error.message}`, kind);
          continue;
        }
        same(cells.slice(0, 3), [plan.bitsPerKey.toFixed(2), bytes(plan.nbytes), percent(plan.fpr)], kind);
        const able = cells.slice(4, 9).map((c) => c.includes('yes'));
        same(able, ['add', 'remove', 'merge', 'grow', 'expire'].map((t) => nay.traits(kind)[t]), `${kind}: abilities`);
      }
    }
  }),
  'plan: every number is the library\u2019s',
);
// ---- look inside: files of every kind and every layout ----

const inside = (run, argument) => page.evaluate(`((v, a) => { ${run} })(nayPlayground.views.get('inside'), ${JSON.stringify(argument ?? null)})`);

/* openInside: bytes as the page opens them, under a layout's name, or recognised. */
async function openInside(bytes, name) {
  await inside(
    `v.format.value = a.name; const data = Uint8Array.from(atob(a.text), (c) => c.charCodeAt(0)); v.open({ name: 'file', original: data, data: data.slice() });`,
    { name, text: Buffer.from(bytes).toString('base64') },
  );
  same(await inside(`return v.verdict === null ? '' : String(v.verdict.message)`), '', 'it opens');
  return figures('#view-inside');
}

const askInside = (key) =>
  inside(
    `v.notices.guard((k) => v.query(k))(a); const e = v.answer; return {
       answer: e.querySelector('[data-answer]')?.dataset.answer ?? null, told: e.querySelector('.answer')?.textContent ?? '',
       steps: [...e.querySelectorAll('ol.steps li')].map((li) => li.textContent), notice: v.notices.element.textContent };`,
    key,
  );

const hex = (value, nbits) => value.toString(16).padStart(Math.ceil(nbits / 4), '0');

/* sentenceOf: what a step's sentence must have, by what the library read; null: anything of its own. */
const SENTENCES = {
  bit: (s) => ` is ${s.found}`,
  fingerprint: (s) => (s.found === 0n ? ': empty' : `: ${hex(s.found, s.nbits)}${s.ok ? ', its fingerprint' : `, not ${hex(s.expected, s.nbits)}`}`),
  slot: (s) => ` holds ${hex(s.found, s.nbits)}`,
  xor: (s) => `xor of the slots: ${hex(s.found, s.nbits)}; its fingerprint is ${hex(s.expected, s.nbits)}`,
  column: (s) => `column ${s.index}: the parity of the selected slots is ${s.found}, its fingerprint has ${s.expected}`,
  value: (s) => ` ends in ${hex(s.found, s.nbits)}${s.ok ? ', as the key\u2019s does' : `; the key\u2019s ends in ${hex(s.expected, s.nbits)}`}`,
  constant: (s) => (s.ok ? 'says maybe to every key' : 'has no keys: nay'),
};

async function checkInside(filter, keys) {
  for (const key of keys) {
    const why = filter.explain(key);
    const seen = await askInside(key);
    same([seen.answer, seen.notice], [filter.has(key) ? 'maybe' : 'nay', ''], `the answer for ${key}`);
    const texts = seen.steps.filter((t) => !t.startsWith('Hash 1 is '));
    right(texts.length === Math.min(seen.steps.length === 64 ? texts.length : 64, why.steps.length + 2), `${texts.length} sentences for ${why.steps.length} steps`);
    if (filter.kind === 'range')
      right(why.steps[0].kind === 'constant' ? /has no location/.test(texts[0]) : texts[0].includes(` ${BigInt(why.word).toLocaleString('en')}`), texts[0]);
    else right(texts[0].includes(hex(why.hash, 64)), texts[0]);
    for (const [i, step] of why.steps.entries()) {
      if (i + 1 >= texts.length) break;
      right(texts[i + 1].includes(SENTENCES[step.kind](step)), `“${texts[i + 1]}”, and the library: ${SENTENCES[step.kind](step)}`);
      if (step.kind !== 'constant') right(!/to every key|has no keys/.test(texts[i + 1]), `“${texts[i + 1]}” of a step that reads something`);
    }
  }
}

function checkInsideFacts(shown, filter, hasChecksum) {
  const s = filter.stats();
  same(shown.Payload[0], bytes(filter.payload().length), 'the payload');
  same(shown.Checksum[0], hasChecksum ? 'yes' : 'none', 'the checksum');
  if (Number.isFinite(s.nkeysEstimated)) same(shown.Keys[0], (s.saturated ? 'at least ' : '') + count(s.nkeysEstimated), 'keys');
  if (filter.kind === 'range')
    same(s.rangeExact ? shown.FPR[0] : shown['FPR of a range'], s.rangeExact ? 'none' : [percent(s.fprNow), `of ${count(s.rangeLength)} numbers`], 'the FPR');
  else same(shown['FPR now'][0], percent(s.fprNow), 'the FPR');
}

const IN = Array.from({ length: 60 }, (_, i) => `key ${i * 7}`);
const OUT = ['', '\u{1f34e}', 'no 1', '17', 'x'.repeat(50), ...Array.from({ length: 6 }, (_, i) => `absent ${i}`)];
await page.evaluate(() => {
  history.replaceState(null, '', '#inside?sample=nay');
  dispatchEvent(new HashChangeEvent('hashchange'));
});
await page.waitForFunction(() => nayPlayground.views.get('inside')?.what);

let layouts = 0;
for (const { name, hasChecksum } of nay.formats.list()) {
  const unmade = { value: '' };
  const fault = await wrongIn(async () => {
    let made = null;
    for (const params of [{ nkeys: IN.length, bitsPerKey: 12 }, { nkeys: IN.length, fpr: 0.01 }, { nkeys: IN.length }]) {
      for (const make of [() => nay.formats.build(name, IN, params), () => IN.reduce((f, key) => (f.add(key), f), nay.formats.create(name, params))]) {
        try {
          made ??= make();
        } catch (error) {
          if (!error.statusName) throw error;
          unmade.value = error.message;
        }
      }
    }
    if (!made) return;
    layouts += 1;
    const data = nay.formats.encode(name, made);
    made.free();
    const filter = nay.formats.open(name, data);
    checkInsideFacts(await openInside(data, name), filter, hasChecksum);
    await checkInside(filter, [...IN.slice(0, 4), ...OUT]);
    filter.free();
  });
  if (fault) report(fault, `look inside, ${name}`);
}
report(layouts >= 30 ? null : `only ${layouts} layouts could be made`, `look inside: facts, answers and steps of ${layouts} layouts are the library's`);

for (const kind of KINDS)
  report(
    await wrongIn(async () => {
      const filter = nay.Filter.build(IN, { kind, fpr: 0.02, ...(nay.traits(kind).add ? { nkeys: IN.length } : {}), ...(kind === 'window' ? { generations: GENERATIONS } : {}) });
      checkInsideFacts(await openInside(filter.encode(), ''), filter, true);
      await checkInside(filter, [...IN.slice(0, 4), ...OUT]);
      filter.free();
    }),
    `look inside, ${kind}: facts, answers and steps are the library's`,
  );

const GOLDEN = join(source, 'tests/golden');
const goldens = (kind) => readdirSync(join(GOLDEN, kind)).filter((f) => f.endsWith('.nay')).map((f) => readFileSync(join(GOLDEN, kind, f)));
const NUMBERS = [...OUT, ...Array.from({ length: 8 }, (_, i) => String(i * i * i * 1000)), '\0\0\0\0\0\0\u0001\u0002'];

report(
  await wrongIn(async () => {
    const spans = [1, 90000, 2 ** 40].flatMap((step) => [0.3, 0.01].map((fpr) => nay.Filter.build(Array.from({ length: 200 }, (_, i) => String(7 + i * step)), { kind: 'range', fpr, rangeLength: 5 }).encode()));
    for (const data of [...goldens('range'), ...spans]) {
      const filter = nay.Filter.open(data);
      checkInsideFacts(await openInside(data, ''), filter, true);
      await checkInside(filter, NUMBERS);
      for (let i = 0; i < 12; i += 1) {
        const lo = below(2 ** pick([8, 24, 45]));
        const [a, b] = [String(lo), String(lo + below(9))];
        const seen = await askInside(`${a}..${b}`);
        let answer = null; // keys of bytes: "98" is above "101"
        try {
          answer = filter.hasRange(a, b) ? 'maybe' : 'nay';
        } catch (error) {
          right(seen.notice.includes(error.message), `from ${a} to ${b}: ${seen.notice}`);
          await inside('v.notices.clear()');
        }
        same(seen.answer, answer, `from ${a} to ${b}`);
        same(/no key is there/.test(seen.told), answer === 'nay', seen.told);
      }
      right((await askInside('9..1')).answer === null && (await askInside('9..1')).notice.includes('above'), 'ends in the wrong order');
      await inside('v.notices.clear()');
      filter.free();
    }
  }),
  'look inside, range: facts, points and ranges are the library\u2019s',
);

report(
  await wrongIn(async () => {
    for (const data of goldens('map')) {
      const map = nay.StaticMap.open(data);
      const shown = await openInside(data, '');
      const s = map.stats();
      same([shown.Keys[0], shown.Value[0], shown['Check bits'][0]], [count(s.nkeys), `${s.valueBits} bits`, String(s.checkBits)], 'facts of a map');
      same(shown['Check bits'][1], s.checkBits > 0 ? `${percent(s.errorRate)} of other keys get a value` : 'other keys get any value', 'keys outside a map');
      for (const key of OUT) {
        const seen = await askInside(key);
        if (s.hash === 'caller') {
          right(seen.answer === null && seen.notice !== '', 'a map whose caller hashes');
          await inside('v.notices.clear()');
          continue;
        }
        const value = map.get(key);
        same(seen.answer, value === undefined ? 'nay' : 'value', `${key}: ${seen.told}`);
        if (value !== undefined) right(seen.told.startsWith(String(value)) && seen.told.includes(s.checkBits > 0 ? 'agree by chance' : 'others get any value'), seen.told);
      }
      map.free();
    }
  }),
  'look inside, map: facts and values are the library\u2019s',
);

report(
  await wrongIn(async () => {
    for (const data of goldens('list')) {
      const list = nay.Filter.open(data);
      const s = list.stats();
      const shown = await openInside(data, '');
      same([shown.Keys[0], shown.Family], [count(s.nkeysEstimated), ['list', s.k > 0 ? `${s.k} check bits` : 'no check bits']], 'facts of a list');
      right(shown['Wrong answers'][1].includes(s.k > 0 ? percent(s.fprNow) : 'all get any answer'), shown['Wrong answers'].join(', '));
      for (const key of [...OUT, ...Array.from({ length: 40 }, (_, i) => `member-${i}`), ...Array.from({ length: 12 }, (_, i) => `p0${i % 9},member-${i}`)]) {
        const seen = await askInside(key);
        same(seen.answer, list.has(key) ? 'maybe' : 'nay', `${key}: ${seen.told}`);
        same(/: listed, if/.test(seen.told), list.has(key), seen.told);
      }
      list.free();
    }
  }),
  'look inside, list: facts and answers are the library\u2019s',
);

report(
  await wrongIn(async () => {
    const kinds = [...readFileSync(join(source, 'include/nay.h'), 'utf8').matchAll(/^ {2}NAY_([A-Z]+) = \d+,/gm)].map((m) => m[1].toLowerCase()).filter((k) => k !== 'auto');
    right(kinds.length > KINDS.length && KINDS.every((k) => kinds.includes(k)), `kinds: ${kinds}`);
    for (const [hash, view] of [['#work', 'work'], ['#compare', 'compare'], ['#plan', 'plan']]) {
      await page.evaluate((h) => {
        history.replaceState(null, '', h);
        dispatchEvent(new HashChangeEvent('hashchange'));
      }, hash);
      const text = await page.textContent(`#view-${view}`);
      for (const kind of kinds) right(KINDS.includes(kind) || new RegExp(`Not here: .*\\b${kind}\\b`).test(text), `${view} neither has ${kind} nor says why`);
    }
    const samples = await page.evaluate(() => [...document.querySelectorAll('#view-inside .chip')].map((e) => e.textContent).join());
    for (const kind of ['range', 'map', 'list']) right(samples.includes(kind), `look inside has no sample of ${kind}: ${samples}`);
  }),
  'every kind of nay.h is shown, or the page says why not',
);
await close();
finish();
