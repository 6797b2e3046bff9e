// The diagrams of doc/learn: each is what the library of this tree draws, byte by byte; every lesson has one; its alternative
// text is its title; colours for dark pages; nothing reaches beyond its edges in height or width.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { finish, library, packageDirectory, report, source } from './support.mjs';
import { DIAGRAMS, fileOf } from '../../web/site/diagrams.mjs';

const nay = await library({ wasm: readFileSync(join(packageDirectory, '../libnay-trace.wasm')), full: true });
const images = join(source, 'doc/img');
const unescape = (text) => text.replace(/&quot;/g, '"').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
const titles = new Map();

for (const [name, draw] of Object.entries(DIAGRAMS)) {
  const file = join(images, fileOf(name));
  const faults = [];
  const text = draw(nay).svg();
  if (!existsSync(file)) faults.push('it is not in the tree: make pictures');
  else if (readFileSync(file, 'utf8') !== text) faults.push('the tree has another one: make pictures');
  if (draw(nay).svg() !== text) faults.push('drawn twice, it differs');
  const title = unescape(/<title id="title">([^<]+)<\/title>/.exec(text)?.[1] ?? '');
  const about = /<desc id="about">([^<]+)<\/desc>/.exec(text)?.[1] ?? '';
  titles.set(fileOf(name), title);
  if (!title || about.length < 80) faults.push(`title “${title}”, description “${about}”`);
  if (!/aria-labelledby="title about"/.test(text) || !/prefers-color-scheme:dark/.test(text)) faults.push('no label, or no colours for dark');
  if (/NaN|undefined|Infinity/.test(text)) faults.push(/.{30}(NaN|undefined|Infinity).{30}/.exec(text)?.[0]);
  const [, width, height] = /viewBox="0 0 ([0-9]+) ([0-9]+)"/.exec(text).map(Number);
  for (const [element, x, y] of [...text.matchAll(/<text x="([-0-9.]+)" y="([-0-9.]+)"[^>]*>/g)])
    if (x < 4 || x > width - 4 || y < 8 || y > height - 4) faults.push(`outside: ${element}`);
  report(faults.join('\n') || null, `${fileOf(name)}: “${title}”`);
}

const used = new Set();
for (const lesson of readdirSync(join(source, 'doc/learn')).filter((f) => f.endsWith('.md') && f !== 'README.md')) {
  const faults = [];
  const found = [...readFileSync(join(source, 'doc/learn', lesson), 'utf8').matchAll(/!\[([^\]]*)\]\(\.\.\/img\/(learn-[a-z-]+\.svg)\)/g)];
  if (found.length === 0) faults.push('no diagram');
  for (const [, alt, file] of found) {
    used.add(file);
    if (titles.get(file) !== alt) faults.push(`${file}: “${alt}” in the lesson, “${titles.get(file)}” in the drawing`);
  }
  report(faults.join('\n') || null, `doc/learn/${lesson} has its diagram`);
}
const kept = readdirSync(images).filter((f) => f.startsWith('learn-'));
report(kept.filter((f) => !used.has(f)).join(' ') || null, 'no diagram without a lesson');
finish();
