#!/usr/bin/env node
// Times libnay beside the filters of npm, in node and in Chromium: node web/bench/bench.mjs [--keys N] [--rounds N]
// Needs build/wasm (make wasm). The peers are installed below build/web-bench once. Prints ns a key, and the ratios
// that web/README.md states.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const build = join(root, 'build/web-bench');
const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const options = { n: option('keys', 100000), rounds: option('rounds', 25) };

function install() {
  const wanted = readFileSync(join(here, 'package-lock.json'));
  const lock = join(build, 'package-lock.json');
  if (existsSync(join(build, 'installed')) && readFileSync(lock).equals(wanted)) return;
  rmSync(build, { recursive: true, force: true });
  mkdirSync(build, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(build, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: build, stdio: 'inherit' });
  writeFileSync(join(build, 'installed'), '');
}

/** One file for both engines: esbuild puts the peers in, and what they expect of node. */
function bundle() {
  copyFileSync(join(here, 'measure.mjs'), join(build, 'measure.mjs'));
  copyFileSync(join(root, 'build/wasm/libnay/index.js'), join(build, 'libnay.js'));
  const out = join(build, 'bundle.mjs');
  execFileSync(join(build, 'node_modules/esbuild/bin/esbuild'), ['measure.mjs', '--bundle', '--format=esm', '--log-level=error',
    '--alias:libnay=./libnay.js', '--alias:util=./none.cjs', '--inject:./shim.js', '--external:node:*', `--outfile=${out}`], { cwd: build });
  return out;
}

async function inBrowser(text, wasm, keys) {
  const { chromium } = createRequire(join(build, 'package.json'))('playwright-core');
  const executablePath = process.env.NAY_CHROMIUM ?? spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.goto('about:blank');
  const table = await page.evaluate(async ({ code, bytes, given }) => {
    const module = await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
    return module.measure({ wasm: Uint8Array.from(bytes), ...given });
  }, { code: text, bytes: [...wasm], given: { keys, ...options } });
  const version = browser.version();
  await browser.close();
  return { table, version };
}

function print(where, table) {
  console.log(`\n${where}: ns a key, ${options.n} keys, best of ${options.rounds} rounds`);
  console.log(`${''.padEnd(26)}${['add', 'hit', 'miss'].map((name) => name.padStart(9)).join('')}`);
  for (const [name, row] of Object.entries(table)) {
    console.log(`${name.padEnd(26)}${Object.values(row).map((ns) => ns.toFixed(1).padStart(9)).join('')}`);
  }
  const ratio = (peer, mine) => ['add', 'hit', 'miss'].map((what) => (table[peer][what] / table[mine][what]).toFixed(1)).join(' / ');
  const ours = 'libnay blocked', batch = 'libnay blocked, batches';
  console.log(`times as fast as bloom-filters 3.0.4, one by one: ${ratio('bloom-filters 3.0.4', ours)}`);
  for (const peer of ['bloomfilter 1.1.0', 'bloomfilter 0.0.18']) {
    console.log(`times as fast as ${peer}: one by one ${ratio(peer, ours)}, batches ${ratio(peer, batch)}`);
  }
}

install();
writeFileSync(join(build, 'none.cjs'), 'module.exports = {};\n');
writeFileSync(join(build, 'shim.js'), "export { Buffer } from 'buffer/';\n"); // bloom-filters expects node's
const bundled = bundle();
const wasm = readFileSync(join(root, 'build/wasm/libnay/libnay-simd.wasm'));
const { measure } = await import(pathToFileURL(bundled));
for (const keys of ['short', 'long']) {
  print(`node ${process.version}, ${keys} keys`, await measure({ wasm, keys, ...options }));
  const { table, version } = await inBrowser(readFileSync(bundled, 'utf8'), wasm, keys);
  print(`Chromium ${version}, ${keys} keys`, table);
}
