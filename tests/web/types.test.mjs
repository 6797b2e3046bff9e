// index.d.ts against the objects: every property and method is declared, and nothing else is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { golden, library, packageDirectory } from './support.mjs';

const text = readFileSync(join(packageDirectory, 'index.d.ts'), 'utf8').replace(/\/\*.*?\*\//gs, '');
const nay = await library({ full: true });

/** The names that an interface declares, without those that may be missing unless asked for. */
function declared(name, { optional = true } = {}) {
  const body = text.match(new RegExp(`(?:interface|class) ${name}\\b[^{]*\\{\\n(.*?)\\n\\}`, 's'))?.[1];
  assert.ok(body, `no interface ${name}`);
  const names = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(\??)[:(]/gm)];
  return [...new Set(names.filter(([, , mark]) => optional || !mark).map(([, each]) => each))].sort();
}

const properties = (object) => Object.keys(object).sort();
const INTERNAL = new Set(['constructor', 'live', 'hasEach', 'feed', 'finish']);

function methods(Class, isStatic) {
  const from = isStatic ? Class : Class.prototype;
  const names = Object.getOwnPropertyNames(from).filter((name) => !['length', 'name', 'prototype'].includes(name));
  return names.filter((name) => !INTERNAL.has(name)).sort();
}

const filter = nay.Filter.build(['a', 'b'], { kind: 'blocked', nkeys: 10, fpr: 0.01 });
const range = nay.Filter.build(['1'], { kind: 'range', rangeLength: 10, fpr: 0.01 });
const map = nay.StaticMap.build([['a', 1]]);
const table = nay.Table.open(golden('leveldb-tables/table_str_n100_b10_none.ldb'));
const filters = nay.TableFilters.open(golden('leveldb-tables/table_str_n100_b10_none.ldb'));

test('structs', () => {
  assert.deepEqual(properties(filter.stats()), declared('Stats', { optional: false }));
  assert.deepEqual(properties(range.stats()), declared('Stats'));
  assert.deepEqual(properties(nay.Filter.plan({ nkeys: 10, fpr: 0.01 })), declared('Plan'));
  assert.deepEqual(properties(filter.overlap(filter)), declared('Overlap'));
  assert.deepEqual(properties(filter.explain('a')), declared('Explanation'));
  assert.deepEqual(properties(filter.explain('a').steps[0]), declared('Step'));
  assert.deepEqual(properties(map.stats()), declared('MapStats'));
  assert.deepEqual(properties(table.info()), declared('TableInfo'));
  assert.deepEqual(properties([...table][0]), declared('TableEntry'));
  assert.deepEqual(properties(filters.info()), declared('TableFiltersInfo'));
  const { monkey } = nay.planLsm({ nkeys: 1e6, ratio: 10, bitsPerKey: 10 });
  assert.deepEqual(properties(monkey), declared('LsmPlan'));
  assert.deepEqual(properties(monkey.levels[0]), declared('LsmLevel'));
  for (const name of properties(table.counters())) assert.ok(text.includes(`'${name}'`), name);
});

test('params: those that the library knows, and flags', () => {
  const known = properties(filter.params()), ofRanges = ['rangeDelimiter', 'rangeKeys', 'rangeLength'];
  assert.deepEqual(declared('Params'), [...known, ...ofRanges, 'key', 'keyType', 'concurrent', 'noVerify', 'storeKey', 'unique'].sort());
});

test('classes', () => {
  for (const [Class, name] of [[nay.Filter, 'Filter'], [nay.StaticMap, 'StaticMap'], [nay.Table, 'Table'],
    [nay.TableFilters, 'TableFilters']]) {
    assert.deepEqual(methods(Class, false), declared(name), name);
    assert.deepEqual(methods(Class, true), declared(`${name}Class`), `${name}Class`);
  }
  assert.deepEqual(properties(nay.formats), declared('Formats'));
  assert.deepEqual(properties(nay.key), declared('TypedKeys'));
});

test('the library, core and full', async () => {
  const all = declared('Library').filter((name) => name !== 'trace');
  assert.deepEqual(properties(nay), all);
  assert.deepEqual(properties(await library()), declared('Library', { optional: false }));
});
