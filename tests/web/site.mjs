// The documents as pages in Chromium, from file://: the home page, every lesson, some of each other kind. axe-core finds
// nothing, nothing is wider than a phone, no layout shift, no scrolling by a frame, no message on the console; search;
// JavaScript off. Nothing here measures time.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { finish, report, source } from './support.mjs';
import { packages, PATIENCE } from './browser.mjs';
import { browser, file, watch } from './page.mjs';

const site = mkdtempSync(join(tmpdir(), 'nay-site-'));
copyFileSync(file, join(site, 'playground.html'));
execFileSync('python3', [join(source, 'web/site/site.py'), site]);
const axe = readFileSync(join(packages, 'node_modules/axe-core/axe.min.js'), 'utf8');
const lessons = readdirSync(join(site, 'doc/learn')).filter((name) => name.endsWith('.html')).map((name) => `doc/learn/${name}`);
// in NAY_ALL: every page of the site (make test-long)
const every = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && name !== 'playground.html' && !lessons.includes(name) && name !== 'index.html').sort();
const others = process.env.NAY_ALL ? every : ['readme.html', 'doc/plots.html', 'doc/man/nay.1.html', 'doc/formats/nay.html', 'doc/formats/index.html', 'doc/api.html', 'src/family/blocked.c.html'];
const at = (path) => pathToFileURL(join(site, path)).href;

const only = process.argv[2]; // a part of a check's name: runs those alone

async function check(name, options, run) {
  if (only && !name.includes(only)) return;
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults = [];
  const start = performance.now();
  watch(page, faults);
  try {
    await run(page, faults);
  } catch (error) {
    faults.push(error.stack);
  }
  report(faults.length > 0 ? faults.join('\n') : null, name);
  if (process.env.NAY_TIMES) console.log(`# ${Math.round(performance.now() - start)} ms`);
  await context.close();
}

/* observe: adds up the layout shifts of a page. */
const observe = (page) =>
  page.addInitScript(() => {
    globalThis.shifted = 0;
    new PerformanceObserver((all) => {
      for (const e of all.getEntries()) if (!e.hadRecentInput) globalThis.shifted += e.value;
    }).observe({ type: 'layout-shift', buffered: true });
  });

for (const colorScheme of ['light', 'dark'])
  await check(`pages on a phone, ${colorScheme}`, { viewport: { width: 360, height: 740 }, colorScheme, reducedMotion: 'reduce' }, async (page, faults) => {
    await observe(page);
    for (const path of ['index.html', ...lessons, ...(colorScheme === 'light' ? others : [])]) {
      await page.goto(at(path));
      const { width, top, shifted } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth, top: scrollY, shifted }));
      if (width > 360) faults.push(`${path}: ${width} pixels wide`);
      if (top !== 0) faults.push(`${path}: it opens scrolled by ${top}`);
      if (shifted !== 0) faults.push(`${path}: its layout shifts by ${shifted}`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, { iframes: false, preload: false, resultTypes: ['violations'] }));
      for (const v of found.violations) faults.push(`${path}: ${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`);
    }
  });

await check('a lesson opens at its text; its frame starts when it is seen, and scrolls nothing', { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' }, async (page, faults) => {
  await observe(page);
  for (const path of lessons.filter((p) => !p.endsWith('index.html'))) {
    await page.goto(at(path));
    const frame = page.locator('figure iframe').first();
    await frame.evaluate((e) => e.scrollIntoView({ block: 'center' }));
    const inner = await (await frame.elementHandle()).contentFrame();
    await inner.waitForSelector('[role=tabpanel]:not([hidden]) h2', { state: 'attached' });
    const y = await page.evaluate(() => scrollY);
    await inner.waitForFunction(() => document.querySelector('[role=tabpanel]:not([hidden])').textContent.length > 40);
    const [after, shifted] = await page.evaluate(() => [scrollY, globalThis.shifted]);
    if (after !== y || shifted !== 0) faults.push(`${path}: scrolled from ${y} to ${after}, shifted by ${shifted}`);
    if (await inner.evaluate(() => document.querySelector('[role=alert]')?.textContent)) faults.push(`${path}: the frame complains`);
    const wide = await inner.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) faults.push(`${path}: what is in the frame is ${wide} pixels too wide`);
  }
});

await check('the playground of the site on a phone: its header fits, and leads home', { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' }, async (page, faults) => {
  await page.goto(at('playground.html'));
  await page.waitForSelector('.tour h3');
  for (const part of ['#link', '#frame', '#theme', '.sitelinks a >> nth=0', '.sitelinks a >> nth=2']) {
    const box = await page.locator(part).boundingBox();
    if (!box || box.x < 0 || box.x + box.width > 360) faults.push(`${part}: from ${box?.x} to ${box?.x + box?.width} of 360`);
  }
  await page.evaluate(axe);
  for (const v of (await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }))).violations) faults.push(`${v.id}: ${v.nodes[0].html.slice(0, 160)}`);
  await page.click('.sitelinks a >> nth=0');
  await page.waitForURL(/index.html/);
});

await check('search over all pages, from file://, by keyboard', { viewport: { width: 1280, height: 800 } }, async (page, faults) => {
  await page.goto(at('doc/learn/bits.html'));
  for (const [words, wanted] of [['blocked cache line', 'blocked'], ['SCANDUMP', 'redisbloom'], ['nay_filter_merge', ''], ['peeling', 'fuse']]) {
    await page.fill('#find', words);
    await page.waitForFunction(() => document.getElementById('foundsaid').textContent !== '');
    const links = await page.locator('#found a').evaluateAll((all) => all.map((a) => a.href));
    if (links.length === 0 || !links.some((l) => l.includes(wanted))) faults.push(`${words}: ${links.join(' ')}`);
  }
  await page.fill('#find', 'xyzzyplugh');
  await page.waitForFunction(() => document.getElementById('foundsaid').textContent === 'Nothing found.');
  await page.fill('#find', '<img src=x onerror=alert(1)>');
  if ((await page.locator('#found img').count()) > 0) faults.push('what is searched becomes HTML');
  await page.fill('#find', 'peeling');
  await page.waitForSelector('#found a');
  await page.press('#find', 'Enter');
  await page.waitForURL(/fuse|xor|ribbon/);
});

await check('without JavaScript: text and pictures stay, nothing is dead', { viewport: { width: 1280, height: 800 }, javaScriptEnabled: false }, async (page, faults) => {
  for (const path of ['index.html', 'doc/learn/bits.html', 'doc/learn/fuse.html']) {
    await page.goto(at(path));
    if (!(await page.locator('h1').isVisible())) faults.push(`${path}: no heading`);
    if (await page.locator('#find').isVisible()) faults.push(`${path}: a search that cannot work`);
    const pictures = await page.locator('noscript img, figure img').evaluateAll((all) => all.length);
    if (pictures === 0) faults.push(`${path}: no picture in place of the frame`);
  }
});

await browser.close();
finish();
