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

for (const kind of nay.kinds) report(check(kind), `${kind}: files of nay(1) and of JavaScript`);
rmSync(directory, { recursive: true });
finish();
