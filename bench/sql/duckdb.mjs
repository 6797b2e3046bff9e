// DuckDB: nay_contains beside IN (subquery), and beside the same function that probes row by row. The ways take turns,
// each shows its best of seven rounds: duckdb.mjs [build directory]. Builds the row-by-row twin with CMake.
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const build = resolve(process.argv[2] ?? join(source, 'build/release'));
const packages = [build, join(source, 'build/dev')].map((at) => join(at, 'tests/sql/node')).find((at) => existsSync(join(at, 'installed')));
if (!packages) throw new Error('run tests/sql/test_duckdb.py first: it installs DuckDB');
execFileSync('cmake', ['--build', build, '--target', 'nay_duckdb', 'nay_duckdb_rows'], { stdio: 'ignore' });
const { DuckDBInstance } = createRequire(join(packages, 'package.json'))('@duckdb/node-api');
const N = 1000000, KEYS = 10000000, ROUNDS = 7;

async function open(extension) {
  const db = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: '1' });
  const c = await db.connect();
  await c.run(`LOAD '${join(build, extension)}'`);
  for (const [name, n] of [['small', N], ['large', KEYS]]) {
    await c.run(`CREATE TABLE ${name} AS SELECT hash(x) >> 2 AS x FROM range(${n}) t(x)`);
    await c.run(`CREATE TABLE f_${name} AS SELECT nay_agg(x::BIGINT, ${n}, 0.01) AS f FROM ${name}`);
    await c.run(`SET VARIABLE h_${name} = (SELECT nay_open(f) FROM f_${name})`); // a subquery adds a join to both
  }
  await c.run(`CREATE TABLE absent AS SELECT (hash(x + 1000000000) >> 2)::BIGINT AS x FROM range(${N}) t(x)`);
  await c.run(`CREATE TABLE keys AS SELECT x::BIGINT AS x FROM small`);
  return c;
}

const vector = await open('duckdb/nay.duckdb_extension'), rows = await open('duckdb/rows/nay.duckdb_extension');
const ways = {
  'nay_contains, 1 M keys': [vector, "SELECT count(*) FROM absent WHERE nay_contains(getvariable('h_small'), x)"],
  'row by row, 1 M keys': [rows, "SELECT count(*) FROM absent WHERE nay_contains(getvariable('h_small'), x)"],
  'nay_contains, 10 M keys': [vector, "SELECT count(*) FROM absent WHERE nay_contains(getvariable('h_large'), x)"],
  'row by row, 10 M keys': [rows, "SELECT count(*) FROM absent WHERE nay_contains(getvariable('h_large'), x)"],
  'nay_contains, in a subquery': [vector, 'SELECT count(*) FROM absent WHERE nay_contains((SELECT nay_open(f) FROM f_small), x)'],
  'IN (subquery), 1 M keys': [vector, 'SELECT count(*) FROM absent WHERE x IN (SELECT x FROM keys)'],
  'trivial, x < 0': [vector, 'SELECT count(*) FROM absent WHERE x < 0'],
  'nay_agg(x, n, 0.01)': [vector, `SELECT octet_length(nay_agg(x, ${N}, 0.01)) FROM keys`],
};
const best = {}, results = {};
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, [connection, sql]] of Object.entries(ways)) {
    const begun = process.hrtime.bigint();
    results[name] = (await connection.runAndReadAll(sql)).getRowsJson()[0][0];
    const ns = Number(process.hrtime.bigint() - begun);
    best[name] = Math.min(best[name] ?? Infinity, ns);
  }
}
for (const [name, ns] of Object.entries(best)) {
  console.log(`${name.padEnd(26)} ${(N / ns * 1e3).toFixed(2).padStart(8)} M rows/s ${(ns / N).toFixed(1).padStart(7)} ns/row  result ${results[name]}`);
}
