// The examples of web/libnay/README.md, run with the built package; prints TAP. A block marked js is a module;
// the text block below it is its output, in which "..." alone on a line stands for lines, else for text.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finish, packageDirectory, report, source } from './support.mjs';

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const pattern = (text) => new RegExp(`^${text.split('\n').map((line) => (line === '...' ? '(?:.*\\n)*?.*' : escape(line)
  .replaceAll('\\.\\.\\.', '.*'))).join('\\n')}$`);

const directory = mkdtempSync(join(tmpdir(), 'nay-readme-'));
mkdirSync(join(directory, 'node_modules'));
symlinkSync(packageDirectory, join(directory, 'node_modules/libnay'));
const text = readFileSync(join(source, 'web/libnay/README.md'), 'utf8');
for (const [, code, expected] of text.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)) {
  writeFileSync(join(directory, 'example.mjs'), code);
  let output;
  try {
    output = execFileSync(process.execPath, ['example.mjs'], { cwd: directory, encoding: 'utf8' });
  } catch (error) {
    output = String(error.stderr ?? error);
  }
  const line = text.slice(0, text.indexOf(code)).split('\n').length;
  report(pattern(expected).test(output) ? '' : output, `web/libnay/README.md:${line}`);
}
rmSync(directory, { recursive: true });
finish();
