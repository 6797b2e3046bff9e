// The pictures of the documents, taken from the real page: doc/img/playground.png for the README, and one for each lesson,
// of the view that its first link opens. `make pictures` writes them anew; they stand in for the page where it cannot run.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openBrowser } from '../../tests/web/browser.mjs';

const source = join(dirname(fileURLToPath(import.meta.url)), '../..');
const page = pathToFileURL(process.argv[2]).href;
const out = join(source, 'doc/img');
const LINK = /web\/playground\/README\.md#([a-z]+)(?:\?([^)]*))?\)/;
const README = 'work&kind=bloom&n=12&by=fpr&fpr=0.1&keys=apple%0Apear%0Aplum%0Acherry%0Aquince%0Afig&ask=moon';

const { browser, missing } = await openBrowser();
if (missing) throw new Error(missing);
mkdirSync(out, { recursive: true });

async function take(query, name, scale) {
  const context = await browser.newContext({ viewport: { width: 760, height: 640 }, deviceScaleFactor: scale, reducedMotion: 'reduce', colorScheme: 'light' });
  const tab = await context.newPage();
  await tab.goto(`${page}?embed=${query}`);
  await tab.waitForFunction(() => globalThis.nayPlayground && [...nayPlayground.views.values()].length > 0);
  await tab.locator('main :is(canvas, svg, table, [data-result])').locator('visible=true').first().waitFor();
  await tab.waitForTimeout(300); // a step is drawn in the next frame
  const box = await tab.evaluate(() => {
    const panel = [...document.querySelectorAll('[role=tabpanel]:not([hidden]) .panel')].find((p) => p.offsetHeight > 0);
    return Math.min(1100, Math.ceil((panel ?? document.querySelector('main')).getBoundingClientRect().bottom + 4));
  });
  await tab.setViewportSize({ width: 760, height: box });
  await tab.screenshot({ path: join(out, name) });
  await context.close();
}

await take(README, 'playground.png', 2);
for (const file of readdirSync(join(source, 'doc/learn')).filter((f) => f.endsWith('.md') && f !== 'README.md')) {
  const found = LINK.exec(readFileSync(join(source, 'doc/learn', file), 'utf8'));
  if (found) await take(`${found[1]}${found[2] ? `&${found[2]}` : ''}`, `playground-${file.replace('.md', '.png')}`, 1);
}
await browser.close();
