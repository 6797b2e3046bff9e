// The package as users get it: `npm pack`, the tarball installed into an empty project, run in node and in
// Chromium. Prints TAP. NAY_BUILD: where playwright-core is installed once.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { finish, packageDirectory, report } from './support.mjs';
import { openBrowser } from './browser.mjs';

const project = mkdtempSync(join(tmpdir(), 'nay-package-'));
const npm = (...words) => execFileSync('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error'], { cwd: project, encoding: 'utf8' });

// what both run: every family in both modules, a file that one writes and the other opens
const PROGRAM = `
import { load, NayError, hasSimd } from 'libnay';
export async function run() {
  const lines = [String(hasSimd())];
  for (const simd of [false, true]) {
    const nay = await load({ simd });
    const keys = Array.from({ length: 3000 }, (_, i) => 'key' + i);
    for (const kind of nay.kinds) {
      const file = nay.Filter.build(keys, { kind, nkeys: 3000, fpr: 0.01 }).encode();
      const again = nay.Filter.open(file);
      const sum = file.reduce((a, byte) => (Math.imul(a, 31) + byte) >>> 0, 7);
      lines.push([kind, file.length, sum, again.hasMany(keys).every((answer) => answer === 1)].join(' '));
    }
  }
  const full = await load({ full: true });
  lines.push(full.formats.list().length + ' formats');
  try {
    full.Filter.open(new Uint8Array(64));
  } catch (error) {
    lines.push([error instanceof NayError, error.statusName].join(' '));
  }
  return lines.join('\\n');
}
`;

function install() {
  const tarball = npm('pack', packageDirectory, '--silent').trim();
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  npm('install', '--offline', `./${tarball}`);
  writeFileSync(join(project, 'program.js'), PROGRAM);
  writeFileSync(join(project, 'run.js'), "import { run } from './program.js';\nconsole.log(await run());\n");
  return readdirSync(join(project, 'node_modules/libnay')).sort().join(' ');
}

/** The project over HTTP; the page says by an import map where the package is. */
function serve() {
  const types = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
  const page = `<!doctype html><title>libnay</title><script type="importmap">
    { "imports": { "libnay": "/node_modules/libnay/index.js" } }</script>
    <script type="module">import { run } from '/program.js';
    run().then((text) => { window.result = text; }, (error) => { window.result = 'failed: ' + error.stack; });</script>`;
  const server = createServer((request, response) => {
    try {
      const body = request.url === '/' ? page : readFileSync(join(project, decodeURIComponent(request.url)));
      response.writeHead(200, { 'content-type': types[extname(request.url)] ?? 'text/html' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(server)); });
}

const installed = install();
const expected = 'LICENSE README.md index.d.ts index.js libnay-full-simd.wasm libnay-full.wasm libnay-simd.wasm libnay.wasm package.json';
report(installed === expected ? '' : installed, 'the tarball holds the package and nothing else');
const inNode = execFileSync(process.execPath, ['run.js'], { cwd: project, encoding: 'utf8' }).trim();
const lines = inNode.split('\n');
const modulesAgree = lines.slice(1, 10).join() === lines.slice(10, 19).join();
report(lines.length === 21 && !inNode.includes('false') && modulesAgree ? '' : inNode, 'installed into an empty project, it runs in node');

const { browser, missing } = await openBrowser();
if (missing) {
  console.log(`ok 3 - it runs in Chromium # SKIP ${missing}`);
} else {
  const server = await serve();
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => window.result !== undefined, null, { timeout: 60000 });
  const inBrowser = await page.evaluate(() => window.result);
  report(inBrowser === inNode && errors.length === 0 ? '' : `${inBrowser}\n${errors}`, 'the same lines, byte for byte, in Chromium');
  await browser.close();
  server.close();
}
rmSync(project, { recursive: true });
finish();
