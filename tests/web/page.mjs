// The playground in Chromium, from file://, for tests: made once, or the page that NAY_PLAYGROUND names. A message on
// the console, an error or a request of the page is a fault.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageDirectory, source } from './support.mjs';
import { openBrowser, PATIENCE } from './browser.mjs';

const { browser, missing } = await openBrowser();
if (missing) {
  console.log(`ok 1 - in Chromium # SKIP ${missing}`);
  console.log('1..1');
  process.exit(0);
}
export { browser };

export const file = process.env.NAY_PLAYGROUND ?? join(mkdtempSync(join(tmpdir(), 'nay-playground-')), 'playground.html');
if (!process.env.NAY_PLAYGROUND) {
  const wasm = join(packageDirectory, '../libnay-trace.wasm');
  execFileSync('python3', [join(source, 'web/playground/bundle.py'), join(packageDirectory, 'index.js'), wasm, file]);
}
export const url = pathToFileURL(file).href;

/** watch: collects what a page complains about. */
export function watch(page, faults) {
  page.on('console', (m) => faults.push(`console: ${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => faults.push(`error in the page: ${e.message}`));
  page.on('request', (r) => {
    if (!/^(file|data|blob):/.test(r.url())) faults.push(`request: ${r.url()}`);
  });
}

/** openPlayground: one page that is ready; close ends the browser. */
export async function openPlayground(options = {}, address = '') {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults = [];
  watch(page, faults);
  await page.goto(url + address);
  await page.waitForFunction(() => globalThis.nayPlayground !== undefined);
  return { page, faults, close: () => browser.close() };
}
