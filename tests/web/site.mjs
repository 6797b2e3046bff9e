// The documents as pages in Chromium, from file://: nothing wider than a phone, axe-core, both colour schemes, and no
// message on the console.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { finish, report, source } from './support.mjs';
import { openBrowser, packages } from './browser.mjs';

const PAGES = ['index.html', 'doc/learn/bits.html', 'doc/learn/lsm.html', 'doc/plots.html', 'doc/man/nay.1.html'];

const { browser, missing } = await openBrowser();
if (missing) {
  console.log(`ok 1 - the site # SKIP ${missing}`);
  console.log('1..1');
  process.exit(0);
}
const site = mkdtempSync(join(tmpdir(), 'nay-site-'));
execFileSync('python3', [join(source, 'web/site/site.py'), site]);
writeFileSync(join(site, 'playground.html'), '<!doctype html><html lang="en"><title>p</title><main><h1>p</h1></main>');
const axe = readFileSync(join(packages, 'node_modules/axe-core/axe.min.js'), 'utf8');

for (const colorScheme of ['light', 'dark']) {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, colorScheme });
  const page = await context.newPage();
  for (const path of PAGES) {
    const faults = [];
    page.removeAllListeners('console');
    page.on('console', (m) => faults.push(`console: ${m.type()}: ${m.text()}`));
    await page.goto(pathToFileURL(join(site, path)).href);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 360) faults.push(`${width} pixels wide`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { iframes: false, preload: false }));
    for (const v of found.violations) {
      if (['serious', 'critical'].includes(v.impact)) faults.push(`${v.id}: ${v.help}: ${v.nodes[0].html}`);
    }
    report(faults.length > 0 ? faults.join('\n') : null, `${path}, ${colorScheme}`);
  }
  await context.close();
}
await browser.close();
finish();
