// Files of the command in JavaScript and back, for every family: built by either from the same keys they are the
// same bytes, and each answers for the other's. Prints TAP. NAY_BUILD has cli/nay.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish, library, report, source } from './support.mjs';

const nay = await library();
const command = join(process.env.NAY_BUILD ?? join(source, 'build/dev'), 'cli/nay');
const directory = mkdtempSync(join(tmpdir(), 'nay-command-'));
const file = (name) => join(directory, name);
const run = (...words) => spawnSync(command, words, { cwd: directory, encoding: 'utf8' });

const keys = Array.from({ length: 2000 }, (_, i) => (i % 3 === 0 ? `clé ${i} 😀` : `key-${i}`));
writeFileSync(file('keys'), keys.map((key) => `${key}\n`).join(''));

function check(kind) {
  const sized = kind === 'window' ? ['-n', '2000'] : [];
  const built = run('build', '-f', '-t', kind, '-p', '0.01', ...sized, '-o', 'theirs.nay', 'keys');
  if (built.status !== 0) return built.stderr;
  const theirs = readFileSync(file('theirs.nay'));
  const opened = nay.Filter.open(theirs);
  if (!opened.hasMany(keys).every((answer) => answer === 1)) return 'a key of the command is a nay in JavaScript';
  const ours = nay.Filter.build(keys, { kind, fpr: 0.01, nkeys: kind === 'scalable' ? 0 : keys.length });
  writeFileSync(file('ours.nay'), ours.encode());
  const found = run('check', '-c', 'ours.nay', 'keys').stdout.trim();
  if (found !== '2000') return `nay check counts ${found} of 2000 keys`;
  if (run('verify', 'ours.nay').status !== 0) return 'nay verify refuses the file';
  if (!['scalable', 'window'].includes(kind) && Buffer.compare(theirs, ours.encode()) !== 0) return 'the bytes differ';
  if (opened.traits.add) {
    run('add', 'ours.nay', '-e', 'later');
    if (!nay.Filter.open(readFileSync(file('ours.nay'))).has('later')) return 'nay add to the file is not seen';
  }
  return '';
}

/** The file states the type of its keys: neither side is told. */
function checkTyped(kind) {
  const numbers = Array.from({ length: 1000 }, (_, i) => `${i * i - 500}`);
  writeFileSync(file('numbers'), numbers.map((text) => `${text}\n`).join(''));
  const sized = kind === 'window' ? ['-n', '1000'] : [];
  const built = run('build', '-f', '--key=int', '-t', kind, '-p', '0.01', ...sized, '-o', 'theirs.nay', 'numbers');
  if (built.status !== 0) return built.stderr;
  const theirs = readFileSync(file('theirs.nay'));
  const opened = nay.Filter.open(theirs);
  if (opened.keyType !== 'int') return `the type is ${opened.keyType}`;
  if (!opened.hasMany(numbers).every((answer) => answer === 1)) return 'a key of the command is a nay in JavaScript';
  const ours = nay.Filter.build(numbers, { kind, fpr: 0.01, nkeys: kind === 'scalable' ? 0 : 1000, keyType: 'int' });
  writeFileSync(file('ours.nay'), ours.encode());
  const found = run('check', '-c', 'ours.nay', 'numbers').stdout.trim();
  if (found !== '1000') return `nay check counts ${found} of 1000 keys`;
  if (run('check', '--key=text', 'ours.nay', 'numbers').status !== 2) return 'another --key is not refused';
  if (!['scalable', 'window'].includes(kind) && Buffer.compare(theirs, ours.encode()) !== 0) return 'the bytes differ';
  return '';
}

/** Tables and maps that state it. */
async function checkTables() {
  const full = await library({ full: true });
  writeFileSync(file('rows'), Array.from({ length: 500 }, (_, i) => `${i}\t${i % 8}\n`).join(''));
  for (const filter of ['full', 'partitioned', 'leveldb', 'none']) {
    const built = run('sst', 'build', '-f', '--sort', '--key=int', '--filter', filter, '-o', 't.ldb', 'rows');
    if (built.status !== 0) return built.stderr;
    const bytes = readFileSync(file('t.ldb'));
    const table = full.Table.open(bytes);
    const filters = full.TableFilters.open(bytes);
    if (table.info().keyType !== 'int' || filters.info().keyType !== 'int') return `${filter}: the type is not stated`;
    if (Buffer.from(table.get('007')?.value ?? []).toString() !== '7' || table.get('900') !== undefined) return `${filter}: get`;
    if (!table.has('0x1f3') || !filters.has('+5') || !filters.explain('010').maybe) return `${filter}: a key is denied`;
    if ([...table.entries({ from: '499' })][0].key[0] !== 0xf3) return `${filter}: entries`;
    for (const call of [() => table.get('x'), () => table.has('x'), () => filters.has('x'), () => filters.explain('x'),
      () => [...table.entries({ from: 'x' })], () => table.get(Buffer.from('7'))]) {
      try {
        call();
        return `${filter}: what is no integer is not refused`;
      } catch (error) {
        if (error.statusName !== 'EINVAL') throw error;
      }
    }
  }
  if (run('map', 'build', '-f', '--key=int', '--check', '20', '-o', 'm.nay', 'rows').status !== 0) return 'map build';
  const map = full.StaticMap.open(readFileSync(file('m.nay')));
  if (map.keyType !== 'int' || map.get('007') !== 7n || map.get('900') !== undefined) return 'the map answers otherwise';
  if (run('sst', 'build', '-f', '--sort', '-o', 't.ldb', 'rows').status !== 0) return 'sst build';
  return full.Table.open(readFileSync(file('t.ldb'))).get('7') === undefined ? 'a table of texts' : '';
}

report(await checkTables(), 'tables and maps that state the type of their keys');
for (const kind of nay.kinds) report(checkTyped(kind), `${kind}: files that state the type of their keys`);
for (const kind of nay.kinds) report(check(kind), `${kind}: files of nay(1) and of JavaScript`);
rmSync(directory, { recursive: true });
finish();
