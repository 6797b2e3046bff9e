/*
 * tree.js - a small LSM tree: sorted tables in levels, each with a filter of the library in memory.
 *
 * The tree itself (which keys are in which table) is made here, of numbers; everything that a filter
 * decides is decided by real filters, and every FPR and size is nay_params_plan's. Data blocks are
 * not stored: reading one is counted.
 *
 *     memtable                   the newest keys, in memory
 *     level 0   t t t t          tables that overlap, the newest first
 *     level 1   t t t            one sorted run: at most one table can have a key
 *     level 2   t t t t t t t    `ratio` times as many keys
 *
 * ALLOCATION. Uniform: every run has the same FPR. Monkey (Dayan, Athanassoulis, Idreos, 2017): the
 * FPR of a run is proportional to its keys, which makes the sum of FPRs, the expected useless reads of
 * a lookup, least for the memory. Between them the FPR is proportional to keys^skew. The factor is
 * found by bisection so that the filters together take the budget.
 */

const L0_TABLES = 4;
const MEMTABLE = 24;
const MOST = 150000;
const NO_FILTER = 0.95;

/* random: a small generator (mulberry32), so that a link shows the same tree everywhere. */
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/*
 * Ids are numbers below 16 users; key and prefix are their texts. Even ids of users that exist are in
 * the tree, odd ones are not, and every third user does not exist at all.
 */
export const userOf = (id) => Math.floor(id / 16);
export const keyOf = (id) => `user${String(userOf(id)).padStart(5, '0')}:${String(id % 16).padStart(2, '0')}`;
export const prefixOf = (user) => `user${String(user).padStart(5, '0')}`;
const exists = (user) => user % 3 !== 2;

/* idOf: the id of a key as typed; NaN when it is no key of this tree's form. */
export function idOf(text) {
  const m = /^user([0-9]{1,7}):([0-9]{1,2})$/.exec(text.trim());
  return m && Number(m[2]) < 16 ? Number(m[1]) * 16 + Number(m[2]) : NaN;
}

export class Tree {
  constructor(engine, { kind, ratio, levels, bits, skew }) {
    Object.assign(this, { engine, kind, ratio, levels, bits, skew });
    this.makeKeys();
    this.allocate();
    this.makeFilters();
  }

  makeKeys() {
    const { ratio, levels } = this;
    const first = Math.max(8, Math.min(512, Math.floor(MOST / ratio ** (levels - 1) / 1.2)));
    const l0 = Math.max(4, Math.floor(first / ratio));
    const sizes = [
      MEMTABLE,
      ...Array(L0_TABLES).fill(l0),
      ...Array.from({ length: levels }, (_, i) => first * ratio ** i),
    ];
    const total = sizes.reduce((a, b) => a + b, 0);
    const ids = [];
    for (let user = 0; ids.length < total; user += 1)
      if (exists(user)) for (let i = 0; i < 16 && ids.length < total; i += 2) ids.push(user * 16 + i);
    this.span = ids[ids.length - 1] + 2;
    this.present = ids.slice();
    const draw = random(7);
    for (let i = ids.length - 1; i > 0; i -= 1) {
      const j = Math.floor(draw() * (i + 1));
      [ids[i], ids[j]] = [ids[j], ids[i]];
    }
    this.cut(ids, sizes, first);
  }

  /* cut: the shuffled ids into memtable, tables of level 0, and runs of several tables. */
  cut(ids, sizes, first) {
    let at = 0;
    const take = (n) => {
      at += n;
      return Float64Array.from(ids.slice(at - n, at)).sort();
    };
    this.memtable = new Set(take(sizes[0]));
    this.runs = []; /* {level, tables: [{ids, low, high}], nkeys} */
    for (const [i, n] of sizes.slice(1).entries()) {
      const level = i < L0_TABLES ? 0 : i - L0_TABLES + 1;
      const sorted = take(n);
      const ntables = level === 0 ? 1 : Math.min(40, Math.max(1, Math.round((2 * n) / first)));
      const tables = [];
      for (let t = 0; t < ntables; t += 1) {
        const part = sorted.subarray(Math.floor((t * n) / ntables), Math.floor(((t + 1) * n) / ntables));
        if (part.length > 0)
          tables.push({
            level,
            run: this.runs.length,
            ids: part,
            set: new Set(part),
            low: part[0],
            high: part[part.length - 1],
          });
      }
      this.runs.push({ level, tables, nkeys: n });
    }
    this.tables = this.runs.flatMap((r) => r.tables);
    this.nkeys = sizes.slice(1).reduce((a, b) => a + b, 0);
  }

  /* planned: {fpr, nbits} of a filter for n keys; none above an FPR at which it hardly helps. */
  planned(n, fpr) {
    if (fpr >= NO_FILTER) return { fpr: 1, nbits: 0 };
    const plan = this.engine.plan({ kind: this.kind, nkeys: n, fpr: Math.max(fpr, 1e-8) });
    return { fpr: plan.fpr, nbits: plan.nbits };
  }

  fprOf(run, factor) {
    return factor * (run.nkeys / this.nkeys) ** this.skew;
  }

  allocate() {
    const budget = this.bits * this.nkeys;
    const cost = (factor) => this.runs.reduce((sum, r) => sum + this.planned(r.nkeys, this.fprOf(r, factor)).nbits, 0);
    let low = -20;
    let high = 12; /* powers of e of the factor */
    for (let i = 0; i < 40; i += 1) {
      const mid = (low + high) / 2;
      if (cost(Math.exp(mid)) > budget) low = mid;
      else high = mid;
    }
    for (const run of this.runs) {
      const plan = this.planned(run.nkeys, this.fprOf(run, Math.exp(high)));
      Object.assign(run, {
        fpr: plan.fpr,
        nbits: plan.nbits,
        target: Math.min(1, Math.max(1e-8, this.fprOf(run, Math.exp(high)))),
      });
    }
    this.nbits = this.runs.reduce((a, r) => a + r.nbits, 0);
    this.expected = this.runs.reduce((a, r) => a + r.fpr, 0);
  }

  makeFilters() {
    try {
      for (const run of this.runs) {
        for (const table of run.tables) {
          if (run.nbits === 0) continue;
          table.filter = this.engine.build([...table.ids].map(keyOf), { kind: this.kind, fpr: run.target });
          const users = [...new Set([...table.ids].map(userOf))].map(prefixOf);
          table.prefixes = this.engine.build(users, { kind: this.kind, fpr: run.target });
        }
      }
    } catch (error) {
      this.free();
      throw error;
    }
  }

  free() {
    for (const table of this.tables) {
      table.filter?.free();
      table.prefixes?.free();
      table.filter = null;
      table.prefixes = null;
    }
  }

  /* candidates: the tables whose range has the id, in the order of a lookup; one of a sorted run at most. */
  *candidates(low, high = low) {
    for (const run of this.runs)
      for (const table of run.tables) yield { table, inRange: table.low <= high && table.high >= low };
  }

  /* get: a lookup. Returns {found, reads, readsWithout, probes, steps}; steps only when asked for. */
  get(id, tell = false) {
    const out = { found: null, reads: 0, readsWithout: 0, probes: 0, falsePositives: 0, steps: [] };
    const say = (step) => {
      if (tell) out.steps.push(step);
    };
    const inMemory = this.memtable.has(id);
    say({ at: 'memtable', state: inMemory ? 'found' : 'searched', text: `memtable: ${inMemory ? 'found' : 'searched, not there'}` });
    if (inMemory) return { ...out, found: 'memtable' };
    const key = keyOf(id);
    for (const { table, inRange } of this.candidates(id)) {
      if (!inRange) continue;
      const has = table.set.has(id);
      if (out.found === null) this.probeTable(table, key, has, out, say);
      if (out.found === null || out.found === table) out.readsWithout += 1;
      if (out.found !== null) break;
    }
    say({
      at: null,
      state: 'end',
      text: out.found
        ? `Found, after ${blocks(out.reads)}; without filters ${blocks(out.readsWithout)}.`
        : `Not in the tree: ${blocks(out.reads)} read; without filters ${blocks(out.readsWithout)}.`,
    });
    return out;
  }

  probeTable(table, key, has, out, say) {
    const name = `level ${table.level}`;
    if (table.filter) {
      out.probes += 1;
      const maybe = table.filter.has(key);
      say({
        at: table,
        state: maybe ? 'maybe' : 'nay',
        text: `${name}: a table has it in its range; the filter says ${maybe ? 'maybe' : 'nay: nothing is read'}`,
      });
      if (!maybe) return;
    } else say({ at: table, state: 'maybe', text: `${name}: a table has it in its range, and no filter` });
    out.reads += 1;
    if (has) out.found = table;
    else if (table.filter) out.falsePositives += 1;
    say({
      at: table,
      state: has ? 'found' : 'useless',
      text: has ? 'index, one data block: found' : 'index, one data block: not there, a useless read',
    });
  }

  /* scan: all keys of a user (prefix) or of a range of ids; a filter of prefixes can only help the first. */
  scan(low, high, user = null) {
    const out = {
      reads: 0,
      readsWithout: 0,
      probes: 0,
      steps: [{ at: 'memtable', state: 'searched', text: 'memtable: scanned in memory' }],
    };
    const prefix = user === null ? null : prefixOf(user);
    for (const { table, inRange } of this.candidates(low, high)) {
      if (!inRange) continue;
      out.readsWithout += 1;
      const name = `level ${table.level}`;
      if (prefix !== null && table.prefixes) {
        out.probes += 1;
        const maybe = table.prefixes.has(prefix);
        out.steps.push({
          at: table,
          state: maybe ? 'maybe' : 'nay',
          text: `${name}: the filter of prefixes says ${maybe ? 'maybe' : 'nay: nothing is read'}`,
        });
        if (!maybe) continue;
      } else
        out.steps.push({
          at: table,
          state: 'maybe',
          text: `${name}: a table overlaps the range, and no filter answers for a range`,
        });
      out.reads += 1;
      const some = table.ids.some((id) => id >= low && id <= high);
      out.steps.push({
        at: table,
        state: some ? 'found' : 'useless',
        text: some ? 'one data block or more: keys found' : 'one data block: no key of it, a useless read',
      });
    }
    out.steps.push({
      at: null,
      state: 'end',
      text: `${blocks(out.reads)} read, without filters ${blocks(out.readsWithout)}.`,
    });
    return out;
  }

  /* sample: n lookups of present or absent keys, with their sums. */
  sample(n, absent, seed) {
    const draw = random(seed);
    const sum = { n, reads: 0, readsWithout: 0, probes: 0, falsePositives: 0 };
    for (let i = 0; i < n; i += 1) {
      const id = this.present[Math.floor(draw() * this.present.length)];
      const got = this.get(absent ? id + 1 : id);
      for (const name of ['reads', 'readsWithout', 'probes', 'falsePositives']) sum[name] += got[name];
    }
    return sum;
  }
}

function blocks(n) {
  return n === 1 ? '1 block' : `${n} blocks`;
}
