// The playground in Chromium, from file://: every view clicked through, in both colour schemes and at the width of a
// phone; hostile keys, numbers, links and files; axe-core. A message on the console or a request is a failure.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { finish, golden, library, packageDirectory, report, source } from './support.mjs';
import { openBrowser, packages, PATIENCE } from './browser.mjs';

const { browser, missing } = await openBrowser();
if (missing) {
  console.log(`ok 1 - the playground # SKIP ${missing}`);
  console.log('1..1');
  process.exit(0);
}

const file = process.env.NAY_PLAYGROUND ?? join(mkdtempSync(join(tmpdir(), 'nay-playground-')), 'playground.html');
if (!process.env.NAY_PLAYGROUND) {
  execFileSync('python3', [
    join(source, 'web/playground/bundle.py'),
    join(packageDirectory, 'index.js'),
    join(packageDirectory, '../libnay-trace.wasm'),
    file,
  ]);
}
const url = pathToFileURL(file).href;
const axe = readFileSync(join(packages, 'node_modules/axe-core/axe.min.js'), 'utf8');
const only = process.argv[2]; // a part of a test's name: runs those alone

let page, faults;

function equal(got, wanted, what) {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}
function truth(value, what) {
  if (!value) throw new Error(`not true: ${what}`);
}

/** A test: a fresh page, opened at a hash when the test says so. Whatever the page complains about fails it. */
async function test(name, run, options = {}) {
  if (only && !name.includes(only)) return;
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  faults = [];
  page.on('console', (m) => faults.push(`console: ${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => faults.push(`error in the page: ${e.message}`));
  page.on('request', (r) => {
    if (!/^(file|data|blob):/.test(r.url())) faults.push(`request: ${r.url()}`);
  });
  let fault = null;
  const start = performance.now();
  try {
    await run();
    if (faults.length > 0) fault = faults.join('\n');
  } catch (error) {
    fault = [error.stack, ...faults].join('\n');
  }
  report(fault, name);
  if (process.env.NAY_TIMES) console.log(`# ${Math.round(performance.now() - start)} ms`);
  await context.close();
}

const open = async (hash = '#work') => {
  await page.goto('about:blank');
  await page.goto(url + hash);
  const broken = new Promise((resolve, reject) => {
    page.once('pageerror', reject);
  });
  await Promise.race([page.waitForSelector('[role=tabpanel]:not([hidden]) h2'), broken]);
};
const view = (expression) => page.evaluate(`(() => { const v = nayPlayground.views; return ${expression}; })()`);
const shown = (selector) => page.locator(`[role=tabpanel]:not([hidden]) ${selector}`);
const notice = () => shown('[role=alert]').first().textContent();
const button = (name) => shown(`button:has-text("${name}")`).first();
const settled = () =>
  page.waitForFunction(() => {
    const w = nayPlayground.views.get('work');
    return !w.player.stop;
  });
const fieldOf = (label) => shown(`.field:has(> label:text-is("${label}")) input[type=text]`);
const why = (label) => shown(`.field:has(> label:text-is("${label}")) .why`).textContent();

async function setField(label, value) {
  await fieldOf(label).fill(value);
  await fieldOf(label).press('Enter');
}

/** What axe-core finds: nothing, of any impact. */
async function accessible(what) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations
      .map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary}`);
  });
  equal(found, [], `axe-core, ${what}`);
}

async function fits(what) {
  const wide = await page.evaluate(() => {
    const out = [...document.querySelectorAll('main *')].filter((e) => {
      const box = e.getBoundingClientRect();
      return (
        box.width > 0 &&
        (box.right > innerWidth + 1 || box.left < -1) &&
        !e.closest('.scroll, .hidden, .chips, ol.steps, .families .seg, .wide')
      );
    });
    return { page: document.documentElement.scrollWidth - innerWidth, first: out[0]?.outerHTML.slice(0, 120) ?? '' };
  });
  equal(wide, { page: 0, first: '' }, `nothing is wider than the window, ${what}`);
}

const VIEWS = ['start', 'work', 'compare', 'overfill', 'lsm', 'plan', 'inside'];
const FAMILIES = (await library()).kinds; // the other kinds are in tests/web/truth.mjs: look inside

await test('the page is one file of at most 600 KB that names no other', async () => {
  truth(statSync(file).size <= 600 * 1000, `${statSync(file).size} bytes`);
  const text = readFileSync(file, 'utf8').replace(/<script id="wasm"[^]*?<\/script>/, '');
  equal(text.match(/(src|href)="(?!#|data:)[^"]*"/g), null, 'links to other files');
  equal(text.match(/https?:\/\/(?!www\.w3\.org)/g), null, 'addresses');
});

for (const colorScheme of ['light', 'dark']) {
  await test(
    `every view, ${colorScheme}: axe-core finds nothing, the console is empty`,
    async () => {
      await open();
      equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme, 'the scheme of the system');
      for (const id of VIEWS) {
        await page.click(`#tab-${id}`);
        await page.waitForTimeout(50);
        await accessible(`${id}, ${colorScheme}`);
      }
      await page.click('#theme');
      equal(
        await page.evaluate(() => document.documentElement.dataset.theme),
        colorScheme === 'light' ? 'dark' : 'light',
        'the switch',
      );
    },
    { colorScheme, reducedMotion: 'reduce' },
  );
}

await test(
  'a phone of 360 pixels: no view is wider, and it is as usable',
  async () => {
    await open();
    for (const id of VIEWS) {
      await page.click(`#tab-${id}`);
      await page.waitForTimeout(50);
      await fits(id);
    }
    for (const kind of FAMILIES) {
      await open(`#work?kind=${kind}&n=50&fpr=0.05&fill=50&ask=moon`);
      await fits(kind);
    }
  },
  { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' },
);

await test(
  'keyboard alone: tabs by arrows, a key added, one asked for, the skip link',
  async () => {
    await open();
    await page.focus('#tab-work');
    for (const id of ['compare', 'overfill', 'lsm', 'plan', 'inside', 'start', 'work']) {
      await page.keyboard.press('ArrowRight');
      equal(await page.evaluate(() => document.activeElement.id), `tab-${id}`, 'the focus');
      truth(await page.isVisible(`#view-${id}`), `${id} is shown`);
    }
    await page.keyboard.press('End');
    truth(await page.isVisible('#view-inside'), 'End goes to the last view');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.focus('[aria-label="A key to add"]');
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    await page.focus('[aria-label="A key to ask for"] >> visible=true');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', 'the answer');
    await button('Find a false positive').focus();
    await page.keyboard.press('Enter');
    await page.focus('.blame .chip');
    await page.keyboard.press('Enter');
    equal(
      await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
      'A key to ask for',
      'the focus after a blamed key',
    );
    await page.focus('#view-work .stage canvas');
    await page.keyboard.press('ArrowRight');
    truth((await shown('.tip').first().textContent()).startsWith('bit 0 is'), 'the arrow keys read bits');
    await page.click('#tab-inside');
    await page.focus('.byte.here');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    equal(await shown('[data-state]').getAttribute('data-state'), 'refused', 'a byte damaged by keyboard');
    truth(await page.evaluate(() => document.activeElement.classList.contains('hit')), 'the focus stays at the byte');
    await page.focus('.skip');
    await page.keyboard.press('Enter');
    equal(await page.evaluate(() => document.activeElement.id), 'main', 'the skip link');
  },
  { reducedMotion: 'reduce' },
);

for (const kind of FAMILIES) {
  await test(
    `see it work, ${kind}: added keys are a maybe, the picture ends as the filter, a false positive is explained`,
    async () => {
      await open();
      await page.click(`label:has-text("${kind}")`);
      await shown('[aria-label="A key to add"]').fill('a new key');
      await shown('[aria-label="A key to add"]').press('Enter');
      await button('+10').click();
      equal(await notice(), '', 'no complaint');
      const same = await view(
        `(() => { const w = v.get('work'); const p = w.filter.payload(); return w.stage.groups.every((g) => { for (let i = 0; i < g.ncells; i += 1) { const b = g.base + i * g.width; for (let j = b; j < b + g.width; j += 1) if (((w.stage.shown[j >> 3] >> (j & 7)) & 1) !== ((p[j >> 3] >> (j & 7)) & 1)) return false; } return true; }); })()`,
      );
      truth(same, 'the stage shows the payload');
      equal(await view(`v.get('work').player.script.untold`), 0, 'cells that changed without a step of the trace');
      truth(await view(`v.get('work').keys.every((k) => v.get('work').filter.has(k))`), 'every key is a maybe');
      const events = {
        scalable: 'opens',
        window: 'expires',
        cuckoo: 'is kicked',
        xor: 'peeled off',
        fuse: 'In reverse',
        ribbon: 'Back substitution',
      }[kind];
      for (let i = 0; events && i < 8; i += 1) {
        if (
          await view(`v.get('work').player.script.some((s) => s.text.includes('${events}') || s.text.includes('kick'))`)
        )
          break;
        truth(i < 7, `no step says: ${events}`);
        await button('+10').click();
      }
      const steps = await view(`v.get('work').player.script.length`);
      if (steps > 1) {
        await shown('[aria-label="To the start"]').click();
        await shown('[aria-label="One step forward"]').click();
        await shown('[aria-label="One step back"]').click();
        equal(await view(`v.get('work').player.at`), 0, 'steps back');
        await shown('[aria-label="To the end"]').click();
      }
      await page.fill('[aria-label="A key to ask for"] >> visible=true', 'a new key');
      await button('Ask').click();
      equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', 'an added key');
      await button('Find a false positive').click();
      await page.waitForSelector('.blame tr, .note:has-text("No key is to blame")');
      const wrong = await view(
        `(() => { const w = v.get('work'); const why = w.filter.explain(w.asked); if (w.keys.includes(w.asked) || !why.maybe) return 'it is no false positive'; for (const s of why.steps) { if (s.group !== why.group || s.kind !== 'bit') continue; const by = w.blame.of(s.bit); if (by.length === 0) return 'bit ' + s.bit + ' is set by nobody'; for (const k of by) if (!w.filter.explain(k).steps.some((t) => t.bit === s.bit)) return k + ' has no bit ' + s.bit; } return ''; })()`,
      );
      equal(wrong, '', 'who is to blame');
      if (kind === 'counting' || kind === 'cuckoo') {
        const n = await view(`v.get('work').keys.length`);
        await button('Remove the last key').click();
        equal(await view(`v.get('work').player.script.untold`), 0, 'cells that a removal changed without a step');
        equal(await view(`v.get('work').keys.length`), n - 1, 'keys after a removal');
      }
      const hash = await page.evaluate(() => location.hash);
      const state = await view(`JSON.stringify([...v.get('work').filter.payload()])`);
      await open(hash);
      if (kind !== 'cuckoo')
        equal(
          await view(`JSON.stringify([...v.get('work').filter.payload()])`),
          state,
          'the link makes the same filter',
        );
    },
    { reducedMotion: 'reduce' },
  );
}

await test(
  'see it work: keys of 10 MB, emoji, a lone surrogate, NUL, the empty key',
  async () => {
    await open('#work?kind=bloom&n=50&fpr=0.05&keys=apple');
    for (const key of [
      '"\u{1f34e}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"',
      '"nul\\u0000nul"',
      '"x".repeat(10 * 1024 * 1024)',
      '""',
      '"<img src=x onerror=alert(1)>"',
      '"\u202e\u0301 right to left"',
    ]) {
      await view(`v.get('work').add(${key})`);
      equal(await view(`v.get('work').filter.has(${key})`), true, `added: ${key}`);
      await view(`v.get('work').ask(${key})`);
      equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', key);
    }
    const before = await view(`v.get('work').keys.length`);
    await page.evaluate(() => {
      const i = document.querySelector('[aria-label="A key to add"]');
      i.value = 'a\ud83d';
      i.form.requestSubmit();
    });
    truth((await notice()).includes('lone surrogate'), `a message about the surrogate: ${await notice()}`);
    equal(await view(`v.get('work').keys.length`), before, 'nothing was added');
    equal(await shown('img').count(), 0, 'a key is text, never HTML');
    await fits('with such keys');
    await accessible('with such keys');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'see it work: a false positive as doc/explain.md has it from the command',
  async () => {
    await open('#work?kind=bloom&n=5&by=bits&bits=5&keys=apple%0Apear%0Aplum%0Acherry%0Aquince&ask=moon');
    await page.waitForSelector('.blame tbody tr');
    equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', 'moon');
    truth(await view(`v.get('work').player.script[0].text.includes('c2074e99b3c51eee')`), 'its hash');
    const rows = await shown('.blame tbody tr').evaluateAll((all) =>
      all.map((tr) => [tr.children[0], ...tr.querySelectorAll('.chip')].map((part) => part.textContent)),
    );
    const document = readFileSync(join(source, 'doc/explain.md'), 'utf8');
    equal(rows.length, 3, 'bits');
    for (const [bit, ...keys] of rows) {
      const line = new RegExp(`${bit} +1 +line 0 +set by ${keys.join(' and ')}\\n`);
      truth(line.test(document), `${bit} set by ${keys}`);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'numbers out of range: a message at the field, the last value stays',
  async () => {
    await open();
    for (const [label, bad] of [
      ['Planned keys (n)', '0'],
      ['Planned keys (n)', '1e300'],
      ['Planned keys (n)', 'many'],
      ['Planned keys (n)', '2.5'],
      ['False-positive rate (FPR)', '2'],
      ['False-positive rate (FPR)', '-1%'],
      ['Probes per key (k), 0: the best', '99'],
    ]) {
      await setField(label, bad);
      truth((await why(label)).length > 5, `${label} ${bad}: a message`);
      equal(await view(`v.get('work').n.value`), 12, 'the value');
    }
    await setField('Planned keys (n)', '1k');
    equal([await why('Planned keys (n)'), await view(`v.get('work').n.value`)], ['', 1000], 'a good number');
    await page.click('#tab-plan');
    await setField('Keys', '1e13');
    equal(await why('Keys'), '', 'the largest plan');
    await setField('Keys', '1e14');
    truth((await why('Keys')).includes('most'), 'above it');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'links from hostile hands: every view opens and says what it cannot use',
  async () => {
    for (const hash of [
      '#work?kind=nonsense&n=-1&fpr=9&k=1e9&fill=1e99',
      '#work?keys=%00%ff%C0&ask=%F0%9F',
      '#overfill?kind=fuse&n=1e99&added=1e12&experiment=__proto__',
      '#lsm?ratio=0&levels=99&bits=NaN&skew=-5&get=%3Cscript%3E',
      '#plan?n=x&by=constructor&fpr=0&price=-1&need=everything',
      '#inside?sample=../../etc/passwd&flip=1e20',
      '#nowhere?x=1',
      '#%F0',
      `#work?keys=${'a%0A'.repeat(30000)}`,
    ]) {
      await open(hash);
      truth(await shown('h2').isVisible(), `${hash.slice(0, 60)}: a view is shown`);
      if (hash.startsWith('#plan'))
        truth((await shown('.why').allTextContents()).filter((t) => t !== '').length >= 3, 'messages at the fields');
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'links drawn at random: names and values of every view with anything in them; a view opens, and can be used',
  async () => {
    await open();
    let a = Number(process.env.NAY_SEED ?? 33);
    const below = (n) => {
      a = (Math.imul(a, 1664525) + 1013904223) >>> 0;
      return Math.floor((a / 2 ** 32) * n);
    };
    const pick = (list) => list[below(list.length)];
    const names = ['step', 'key', 'fill', 'bits', 'kinds', 'n', 'fpr', 'ask', 'kind', 'by', 'm', 'k', 'keys', 'time', 'ticks', 'amount', 'added', 'experiment', 'ratio', 'levels', 'skew', 'get', 'memory', 'need', 'price', 'copies', 'sample', 'flip'];
    const values = ['', '0', '-1', '1', '7', '40', '1e3', '1e308', '-1e308', 'NaN', 'Infinity', '0.1', '1e-300', '0x10', '5.5.9', '..', 'null', '__proto__', 'constructor', '<b>', '%00', '%ff', '%F0%9F%8D%8E', '%E2%80%AE', 'a%0Ab%0A%0Ac', 'x'.repeat(3000), 'fpr', 'm', 'ticks', 'words', 'integers', 'twice', 'leveldb', 'range', 'map', 'list', ...FAMILIES, 'bloom,xor', 'range,list'];
    for (let i = 0; i < Number(process.env.NAY_LINKS ?? 60); i += 1) {
      const hash = `#${pick([...VIEWS, ...VIEWS, 'nowhere', ''])}?${Array.from({ length: below(7) }, () => `${pick(names)}=${pick(values)}`).join('&')}`;
      await page.evaluate(async (h) => {
        history.replaceState(null, '', h);
        dispatchEvent(new HashChangeEvent('hashchange'));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }, hash);
      const state = await page.evaluate(() => {
        const panel = document.querySelector('[role=tabpanel]:not([hidden])');
        return { text: panel?.textContent ?? '', bold: panel?.querySelectorAll('.chip b, .says b b').length ?? 0 };
      });
      truth(state.text.length > 200 && !/That did not work|undefined|\bNaN\b(?!.*link)/.test(state.text.replace(/'[^']*'|\u201c[^\u201d]*\u201d/g, '')), `${hash.slice(0, 300)}: ${/.{60}(That did not work|undefined|NaN).{60}/.exec(state.text)?.[0] ?? state.text.slice(0, 200)}`);
      equal(state.bold, 0, `${hash.slice(0, 300)}: what is in a link becomes HTML`);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'links with a number of keys, an experiment or a need that cannot be used: the view says so',
  async () => {
    for (const [hash, what] of [
      ['#work?kind=bloom&fill=1e12', 'more keys than this view draws'],
      ['#work?kind=bloom&fill=20001', 'more keys than this view draws'],
      ['#overfill?experiment=zzz', "'zzz'"],
      ['#plan?need=zzz', "'zzz'"],
      ['#plan?need=remove,zzz', "'zzz'"],
    ]) {
      await open(hash);
      await page.waitForFunction((text) => document.querySelector('main').innerText.includes(text), what);
    }
    for (const hash of ['#work?kind=bloom&n=20000&by=bits&bits=4&fill=20000', '#plan?need=remove,static', '#plan']) {
      await open(hash);
      truth(!(await page.innerText('main')).includes('The link'), `${hash}: nothing to say`);
    }
  },
  { reducedMotion: 'reduce' },
);

await test('overfill: a million keys at once; fill, estimate, planned and measured FPR agree', async () => {
  await open('#overfill?kind=bloom&n=1000000&fpr=0.01');
  await button('Add them').click();
  await page.waitForFunction(() => document.querySelector('#view-overfill .figures').dataset.ms);
  const got = await view(
    `(() => { const o = v.get('overfill'); return { added: o.added, s: o.filter.stats(), m: o.measured, ms: o.took, drawn: o.density.canvas.width }; })()`,
  );
  equal(got.added, 1000000, 'keys');
  truth(Math.abs(got.s.nkeysEstimated / 1e6 - 1) < 0.01, 'the estimate');
  truth(got.m.low < 0.0105 && got.m.high > 0.0095, `measured: ${got.m.fpr}`);
  truth(got.drawn > 100, 'it is drawn');
  console.log(`# a million keys added, measured and drawn in ${Math.round(got.ms)} ms`);
  await button('+100%').click();
  await page.waitForFunction(
    () => nayPlayground.views.get('overfill').added === 2000000 && !nayPlayground.views.get('overfill').loading,
  );
  truth((await view(`v.get('overfill').measured.fpr`)) > 0.1, 'twice the keys');
  truth(
    await shown('.bar')
      .first()
      .evaluate((e) => e.classList.contains('over')),
    'the bar says overfilled',
  );
  const hash = await page.evaluate(() => location.hash);
  truth(hash.includes('added=2000000'), `the link has the keys: ${hash}`);
});

await test('overfill: every family, a file, a full filter, no memory', async () => {
  await open('#overfill?kind=cuckoo&n=5000&fpr=0.01&amount=20000');
  await button('Add them').click();
  await page.waitForFunction(() => document.querySelector('#view-overfill [role=alert]').textContent !== '');
  truth((await notice()).includes('full'), 'a full cuckoo filter says so');
  truth((await view(`v.get('overfill').filter.stats().nkeysEstimated`)) > 4000, 'and keeps its keys');
  await page.setInputFiles('#view-overfill input[type=file]', {
    name: 'keys.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('one\ntwo\r\n\u{1f34e}\nlast'),
  });
  await page.waitForFunction(() => nayPlayground.views.get('overfill').added === 4);
  equal(
    await view(`['one', 'two\\r', '\u{1f34e}', 'last'].every((k) => v.get('overfill').filter.has(k))`),
    true,
    'lines of a file',
  );
  await page.setInputFiles('#view-overfill input[type=file]', {
    name: 'empty.txt',
    mimeType: 'text/plain',
    buffer: Buffer.alloc(0),
  });
  await page.waitForFunction(() => document.querySelector('#view-overfill [role=alert]').textContent.includes('empty'));
  await open('#overfill?kind=bloom&n=3000&fpr=0.01&amount=3000');
  await setField('Planned FPR', '0.000001');
  await setField('Planned keys', '1e9');
  truth((await notice()).includes('memory'), `no memory: ${await notice()}`);
  await button('Add them').click();
  await page.waitForFunction(() => nayPlayground.views.get('overfill').added === 3000);
  equal(await view(`v.get('overfill').n.value`), 3000, 'the field goes back to what is there');
  await setField('Planned FPR', '1%');
  await button('Fill every family').click();
  await page.waitForSelector('[data-families="drawn"]');
  equal(await shown('svg.plot').nth(1).locator('path').count(), FAMILIES.length, 'a line for each family');
});

await test('overfill: every sentence that is often said, measured', async () => {
  await open('#overfill');
  const result = async (id) => {
    await page.click(`[data-experiment="${id}"]`);
    await page.waitForSelector(`[data-result="${id}"]`);
    return page.textContent(`[data-result="${id}"]`);
  };
  for (const [id, pattern] of [
    ['eight', /8 bits per key2\.1[0-9]%2\.[12][0-9]*%/],
    ['k', /least at k = 7/],
    ['double', /has ([6-9]|1[0-9]) times the FPR/],
    ['twice', /2 times the keys1[0-9]\.[0-9]%/],
    ['line', /the blocked filter has [0-9]+ times/],
    ['remove', /[1-9][0-9,]* of 20,000 keys that are in the set are now a nay/],
  ]) {
    const text = await result(id);
    truth(pattern.test(text), `${id}: ${text}`);
  }
  await accessible('experiments');
  await open('#overfill?experiment=eight');
  await page.waitForSelector('[data-result="eight"]');
});

await test(
  'in an LSM tree: lookups travel, filters save reads, Monkey saves more',
  async () => {
    await open('#lsm');
    for (const label of ['An absent key', 'A present key', 'Scan a prefix', 'Scan a range']) {
      await button(label).click();
      truth((await view(`v.get('lsm').player.script.length`)) > 2, `${label}: steps`);
      await shown('[aria-label="To the end"]')
        .click({ force: true, timeout: 500 })
        .catch(() => {});
    }
    truth(
      await view(`v.get('lsm').tree.present.every((id) => v.get('lsm').tree.get(id).found !== null)`),
      'every key of the tree is found',
    );
    const reads = async () => {
      await button('10,000 absent keys').click();
      const figures = page.locator('#view-lsm [data-reads]');
      await figures.waitFor();
      return [Number(await figures.getAttribute('data-reads')), Number(await figures.getAttribute('data-without'))];
    };
    const uniform = await reads();
    truth(uniform[0] * 5 < uniform[1], `uniform: ${uniform}`);
    const budget = await view(`v.get('lsm').tree.nbits`);
    await setField('Allocation: 0 uniform, 1 Monkey', '1');
    const monkey = await reads();
    truth(monkey[0] < uniform[0] && monkey[1] === uniform[1], `Monkey: ${monkey}, uniform: ${uniform}`);
    truth((await view(`v.get('lsm').tree.nbits`)) <= 1.02 * budget, 'in the same memory');
    await setField('Filter memory, bits per key', '0');
    const none = await reads();
    equal(none[0], none[1], 'without memory there are no filters');
    for (const kind of ['blocked', 'fuse', 'ribbon']) {
      await open(`#lsm?kind=${kind}&ratio=10&levels=4&bits=8&skew=1`);
      equal(await notice(), '', kind);
    }
    await shown('[aria-label="A key of the tree"]').fill('<b>no key</b>');
    await button('Get').click();
    truth((await notice()).includes('no key of this tree'), 'what is no key');
  },
  { reducedMotion: 'reduce' },
);

await test('plan: the best family for the needs, its price, a link that holds all of it', async () => {
  await open('#plan?n=1000000&by=fpr&fpr=0.01&price=4&copies=2');
  const best = () => shown('tr.best th').textContent();
  equal(await best(), 'bloom', 'no needs');
  await page.check('label.check:has-text("all keys are known")');
  equal(await best(), 'ribbon', 'all keys known');
  await page.check('label.check:has-text("remove") input');
  truth(['cuckoo', 'counting'].includes(await best()), 'removal');
  await page.check('label.check:has-text("expire") input');
  truth((await shown('h3').first().textContent()).includes('No family'), 'removal and expiry');
  await page.uncheck('label.check:has-text("expire") input');
  const text = await shown('tr.best').textContent();
  const hash = await page.evaluate(() => location.hash);
  await open(hash);
  equal(await shown('tr.best').textContent(), text, 'after a reload of the link');
  for (const by of ['bits per key', 'memory']) {
    await page.click(`#view-plan label:has-text("${by}")`);
    truth(await shown('tr.best').isVisible(), by);
  }
  equal(await view(`v.get('plan').cost({ nbytes: 1024 ** 3 })`), 8, 'the price of a GiB');
});

await test('look inside: samples open, answer, are drawn; a damaged byte is refused, or said to be silent', async () => {
  await open('#inside');
  const damageAt = async (share) =>
    view(`v.get('inside').damage(Math.floor(v.get('inside').file.data.length * ${share}))`);
  for (const [label, key, refused] of [
    ['A nay file', 'apple', true],
    ['A range filter', '1000..1009', true],
    ['An exact list', 'member-57', true],
    ['The smallest one', 'apple', true],
    ['LevelDB\u2019s filter', 'apple', false],
    ['A Redis dump', 'item:7', true],
  ]) {
    await button(label).click();
    equal(await shown('[data-state]').getAttribute('data-state'), 'open', label);
    if (key) {
      await page.fill('[aria-label="A key to ask for"] >> visible=true', key);
      await button('Ask').click();
      equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', `${label}: ${key}`);
    }
    await damageAt(0.6);
    const bits = await view(`(() => { const { file } = v.get('inside'); return file.data.reduce((n, b, i) => n + (b ^ file.original[i]).toString(2).replaceAll('0', '').length, 0); })()`);
    equal([bits, (await shown('.notice.bad').textContent()).includes('One bit of byte')], [1, true], `${label}: bits that differ, and what is said`);
    equal(await shown('[data-state]').getAttribute('data-state'), refused ? 'refused' : 'open', `${label}, damaged`);
    truth(
      (await shown('.notice.bad').textContent()).includes(refused ? 'NAY_ECORRUPT' : 'Nobody noticed'),
      `${label}: what is said`,
    );
    await button('Repair').click();
    equal(await shown('[data-state]').getAttribute('data-state'), 'open', `${label}, repaired`);
  }
  await button('A nay file').click();
  for (let i = 0; i < 40; i += 1) {
    await damageAt(i / 40);
    equal(await shown('[data-state]').getAttribute('data-state'), 'refused', `byte at ${i}/40`);
  }
  await button('Repair').click();
  await shown('canvas').click({ position: { x: 40, y: 30 } });
  await shown('.byte.here').click();
  equal(await shown('[data-state]').getAttribute('data-state'), 'refused', 'a click on a byte');
  await open(await page.evaluate(() => location.hash));
  equal(await shown('[data-state]').getAttribute('data-state'), 'refused', 'the link has the damage');
});

await test('look inside: layouts of two hashes show them, and a rule only if it gives every position', async () => {
  await open('#inside');
  const told = await page.evaluate(() => {
    const { engine } = nayPlayground.views.get('inside');
    const out = {};
    for (const { name } of engine.formats) {
      try {
        const filter = engine.createAs(name, { nkeys: 50, bitsPerKey: 10 });
        for (const key of ['apple', 'pear', '']) filter.add(key);
        nayPlayground.views.get('inside').format.value = name;
        nayPlayground.views.get('inside').open({ name, original: engine.encodeAs(name, filter), data: engine.encodeAs(name, filter) });
        nayPlayground.views.get('inside').query('apple');
        const step = document.querySelector('#view-inside ol.steps li:nth-child(2)')?.textContent ?? '';
        out[name] = [step, filter.explain('apple').steps.map((s) => s.bit - s.unitBit + 512 * s.unitIndex), filter.stats().nbits];
        filter.free();
      } catch (error) {
        if (!error.statusName) throw error;
      }
    }
    return out;
  });
  let rules = 0;
  for (const [name, [step, bits, m]] of Object.entries(told)) {
    const parsed = /^Hash 1 is ([0-9a-f]+), hash 2 ([0-9a-f]+); .*?mod (2\S+ mod )?m, with m = ([0-9,]+)$/.exec(step);
    if (!parsed) continue;
    rules += 1;
    const [, one, two, wraps, shown] = parsed;
    equal(shown, m.toLocaleString('en'), `${name}: m`);
    const wrap = wraps === undefined ? 1n << 200n : wraps.startsWith('2\u00b3\u00b2') ? 1n << 32n : 1n << 64n;
    bits.forEach((bit, i) => equal(Number(((BigInt(`0x${one}`) + BigInt(i) * BigInt(`0x${two}`)) % wrap) % BigInt(m)), bit, `${name}: bit ${i} by its rule`));
  }
  truth(told.leveldb[0].startsWith('Hash 1 is 7c7f163b') && rules >= 2, `${rules} layouts with a rule: ${JSON.stringify(told).slice(0, 300)}`);
});

await test('look inside: tables, and files from hostile hands', async () => {
  await open('#inside?sample=table');
  truth((await shown('.figures').first().textContent()).includes('LevelDB'), 'a table of LevelDB');
  await page.fill('[aria-label="A key to ask for"] >> visible=true', 'certainly not there');
  await button('Ask').click();
  truth(await shown('[data-answer]').isVisible(), 'a table answers');
  const drop = async (name, buffer) => {
    await page.setInputFiles('#view-inside input[type=file]', { name, mimeType: 'application/octet-stream', buffer });
    await page.waitForFunction(
      (n) =>
        nayPlayground.views.get('inside').file?.name === n ||
        document.querySelector('#view-inside [role=alert]').textContent.includes(n),
      name,
    );
  };
  equal(
    await page.evaluate(() => document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true }))),
    false,
    'a file that misses its place does not replace the page',
  );
  await drop('snappy.ldb', golden('leveldb-tables/table_str_n10000_b10_snappy.ldb'));
  equal(await shown('[data-state]').getAttribute('data-state'), 'open', 'a compressed table');
  truth((await shown('table').last().textContent()).includes('of 10,000'), 'its entries');
  await view(`v.get('inside').damage(100)`);
  truth((await shown('.notice.bad').textContent()).includes('a block of its data is refused'), 'a damaged data block');
  await drop('empty', Buffer.alloc(0));
  truth((await notice()).includes('empty'), 'an empty file');
  const nay = Buffer.from(
    await view(`[...v.get('inside').engine.build(['a', 'b'], { kind: 'fuse', fpr: 0.01 }).encode()]`),
  );
  const ldb = golden('leveldb-tables/table_str_n100_b10_none.ldb');
  const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919 + (i >> 3)) & 255));
  for (const [name, bytes] of [
    ['noise', noise],
    ['short.nay', nay.subarray(0, 30)],
    ['cut.nay', nay.subarray(0, nay.length - 1)],
    ['long.nay', Buffer.concat([nay, noise])],
    ['cut.ldb', ldb.subarray(7)],
    ['footer', ldb.subarray(ldb.length - 48)],
    ['zeros', Buffer.alloc(100000)],
  ]) {
    await drop(name, bytes);
    truth(await shown('[data-state]').isVisible(), `${name}: a state`);
    truth(['refused', 'open'].includes(await shown('[data-state]').getAttribute('data-state')), name);
  }
  await drop('noise2', noise);
  for (const format of await view(`v.get('inside').engine.formats.map((f) => f.name)`)) {
    await page.selectOption('#view-inside select', format);
    truth(await shown('[data-state]').isVisible(), `noise as ${format}`);
  }
  await accessible('look inside');
});

/** What was done in the busiest frame, of each kind of work: counted, and never more than the page allows. */
async function bounded(what, kinds) {
  const { most } = await page.evaluate(() => nayPlayground.frameStats());
  const allowed = await page.evaluate(() => nayPlayground.MOST);
  for (const [name, n] of Object.entries(most)) truth(n <= allowed[name], `${what}: ${n} ${name} in a frame, ${allowed[name]} allowed`);
  for (const name of kinds) truth(most[name] > 0, `${what}: ${name} are counted`);
  console.log(`# ${what}: at most ${Object.entries(most).map(([name, n]) => `${n} ${name}`).join(', ')} in a frame`);
}
const drawn = () => page.waitForFunction(() => { const { stage } = nayPlayground.views.get('work'); return stage.next === stage.ncells && !stage.later; });

await test('work per frame is bounded and counted: a picture of 600,000 bits, 6,000 steps a second, a million keys, experiments', async () => {
  await open('#work?kind=bloom&n=20000&by=m&m=600000&fill=20000');
  await drawn();
  await bounded('600,000 bits drawn', ['cells', 'keys']);
  await page.setViewportSize({ width: 1000, height: 800 });
  await drawn();
  await page.click('#theme');
  await drawn();
  await bounded('drawn anew', ['cells']);
  await open('#work?kind=bloom&n=10000&by=bits&bits=10&fill=2000');
  await page.evaluate(() => nayPlayground.resetFrames());
  await button('Fill it').click();
  await shown('[aria-label="Speed"]').selectOption('6000');
  await page.waitForFunction(() => !nayPlayground.views.get('work').player.stop);
  await drawn();
  await bounded('8,000 steps played', ['cells', 'steps']);
  await open('#overfill?kind=bloom&n=1000000&fpr=0.01');
  await page.evaluate(() => nayPlayground.resetFrames());
  await button('Add them').click();
  await page.waitForFunction(() => document.querySelector('#view-overfill .figures').dataset.ms);
  await bounded('a million keys', ['keys', 'probes']);
  for (const id of ['eight', 'twice', 'remove']) {
    await page.click(`[data-experiment="${id}"]`);
    await page.waitForSelector(`[data-result="${id}"]`);
  }
  await bounded('experiments', ['keys', 'probes']);
});

await test('frames: steps on a filter of 100,000 bits are played, and the page measures its scripts', async () => {
  await open('#work?kind=bloom&n=10000&by=bits&bits=10&fill=2000');
  await page.evaluate(() => nayPlayground.resetFrames());
  await button('Fill it').click();
  await shown('[aria-label="Speed"]').selectOption('60');
  await page.waitForFunction(
    () => nayPlayground.frameStats().frames >= 120 || !nayPlayground.views.get('work').player.stop,
  );
  const paint = await page.evaluate(() => performance.getEntriesByType('paint')[0]?.startTime);
  const { frames, p95, max } = await page.evaluate(() => nayPlayground.frameStats());
  truth(frames >= 60, `${frames} frames`);
  console.log(
    `# script time per frame over ${frames} frames: p95 ${p95.toFixed(2)} ms, longest ${max.toFixed(2)} ms; first paint after ${Math.round(paint)} ms`,
  );
  await shown('[aria-label="Pause"]')
    .click({ timeout: 1000 })
    .catch(() => {});
  await settled();
});

await test('impatience: another filter, view or link while keys are added and false positives explained', async () => {
  await open('#overfill?kind=bloom&n=1000000&fpr=0.01&amount=20000000');
  await button('Add them').click();
  await setField('Planned keys', '5000');
  await page.waitForFunction(() => !nayPlayground.views.get('overfill').loading);
  equal(
    await view(`[v.get('overfill').added, v.get('overfill').filter.stats().nbitsSet]`),
    [0, 0],
    'keys of the old filter in the new one',
  );
  await setField('How many at once', '5M');
  await button('Add them').click();
  await page.evaluate(() => {
    location.hash = '#overfill?kind=blocked&n=1000&fpr=0.1';
  });
  await page.click('#tab-work');
  await page.evaluate(() => {
    location.hash = '#work?kind=bloom&n=20000&by=bits&bits=4&fill=20000';
  });
  await page.waitForFunction(() => nayPlayground.views.get('work').keys.length === 20000);
  await button('Find a false positive').click();
  await setField('Planned keys (n)', '100');
  await button('Find a false positive').click();
  await page.click('label:has-text("cuckoo")');
  await button('Fill it').click();
  await page.click('label:has-text("ribbon")');
  await page.waitForTimeout(200);
  equal(await notice(), '', 'no complaint');
});

await test(
  'reduced motion: nothing is animated, every step is still there',
  async () => {
    await open('#work');
    await button('+10').click();
    equal(
      await view(
        `[v.get('work').player.stop === null, v.get('work').player.at === v.get('work').player.script.length]`,
      ),
      [true, true],
      'at the end at once',
    );
    equal((await page.evaluate(() => nayPlayground.frameStats())).frames, 0, 'frames');
  },
  { reducedMotion: 'reduce' },
);

// ---- what was wrong once ----

await test(
  'every slider moves by arrow keys, a step in the direction of the key, and by pages to both ends',
  async () => {
    await open('#work?kind=bloom&n=12&by=fpr&fpr=0.1&keys=apple');
    for (const id of VIEWS) {
      await page.click(`#tab-${id}`);
      for (const slider of await shown('input[type=range] >> visible=true').all()) {
        const label = await slider.getAttribute('data-of');
        const value = () =>
          slider.evaluate((e) => Number(e.value)).then(async (at) => [at, await slider.getAttribute('aria-valuetext')]);
        await slider.focus();
        await slider.press('Home');
        const low = await value();
        await slider.press('ArrowRight');
        const next = await value();
        truth(next[0] >= low[0] && next[1] !== low[1], `${label}: right from ${low} to ${next}`);
        await slider.press('ArrowUp');
        const third = await value();
        truth(third[0] >= next[0] && third[1] !== next[1], `${label}: up from ${next} to ${third}`);
        await slider.press('ArrowLeft');
        equal((await value())[1], next[1], `${label}: left again`);
        await slider.press('PageUp');
        truth((await value())[0] > next[0], `${label}: a page up`);
      }
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'a page that frames it is not scrolled when it opens or changes its view',
  async () => {
    const host = join(mkdtempSync(join(tmpdir(), 'nay-frame-')), 'host.html');
    writeFileSync(
      host,
      `<!doctype html><html lang="en"><title>t</title><p style="height: 2000px">text</p><iframe src="${url}#inside" style="width: 300px; height: 500px"></iframe>`,
    );
    await page.goto(pathToFileURL(host).href);
    await page.frames()[1].waitForSelector('[role=tabpanel]:not([hidden]) h2');
    await page.frames()[1].evaluate(() => document.getElementById('tab-lsm').click());
    equal(await page.evaluate(() => scrollY), 0, 'pixels that the parent has scrolled');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'a tab is an entry of the history: Back leads to the view before, as it was',
  async () => {
    await open('#work?kind=cuckoo&n=40&by=fpr&fpr=0.05&fill=20');
    await page.click('#tab-plan');
    await setField('Keys', '4242');
    await page.click('#tab-lsm');
    await page.goBack();
    truth(await page.isVisible('#view-plan'), 'the plan again');
    equal(await view(`v.get('plan').n.value`), 4242, 'with its numbers');
    await page.goBack();
    truth(await page.isVisible('#view-work'), 'the first view again');
    equal(await view(`[v.get('work').kind.value, v.get('work').keys.length]`), ['cuckoo', 20], 'with its keys');
    await page.goForward();
    truth(await page.isVisible('#view-plan'), 'and forward');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'of an expired key a window never says that it was not added; a button lets time pass',
  async () => {
    await open('#work?kind=window&n=60&by=fpr&fpr=0.1&fill=300&ask=apple');
    const told = async () => (await shown('[data-answer]').textContent()) + (await shown('ol.steps').first().textContent());
    truth(/expired/.test(await told()) && !/never (been )?added|certainly not/.test(await told()), await told());
    truth(!(await shown('.chips').first().textContent()).includes('apple'), 'an expired key is not among those that are in');
    await open('#work?kind=window&n=60&by=fpr&fpr=0.1&time=ticks&keys=apple&ask=apple');
    equal(await shown('[data-answer]').getAttribute('data-answer'), 'maybe', 'before');
    for (let i = 0; i < 4; i += 1) await button('Let a tick pass').click();
    await view(`v.get('work').ask('apple')`);
    equal(await shown('[data-answer]').getAttribute('data-answer'), 'nay', 'after as many ticks as there are generations');
    truth(/expired/.test(await told()), await told());
  },
  { reducedMotion: 'reduce' },
);

await test(
  'a link to an experiment shows its result in the first screen',
  async () => {
    for (const id of ['remove', 'twice']) {
      await open(`#overfill?experiment=${id}`);
      const box = await shown(`[data-result="${id}"]`).boundingBox();
      truth(box.y > 0 && box.y < 600, `${id}: at ${box.y} of 800`);
    }
  },
  { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' },
);

await test(
  'Enter in an empty field adds and asks for nothing, and says so',
  async () => {
    await open();
    const before = await view(`v.get('work').keys.length`);
    for (const label of ['A key to add', 'A key to ask for']) {
      await shown(`[aria-label="${label}"]`).fill('');
      await shown(`[aria-label="${label}"]`).press('Enter');
      truth((await notice()).includes('Type a key first'), label);
    }
    equal(await view(`v.get('work').keys.length`), before, 'keys');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'a link that names a family alone opens its scene: enough keys to see what it is about',
  async () => {
    for (const kind of FAMILIES) {
      await open(`#work?kind=${kind}`);
      const wrong = await view(`(() => { const w = v.get('work'); const was = JSON.stringify([w.n.value, w.fpr.value, w.keys.length]); const steps = w.player.script.map((s) => s.text).join(' '); w.mine = []; w.scene('${kind}'); const scene = JSON.stringify([w.n.value, w.fpr.value, w.keys.length]); return was === scene && !steps.includes('small Bloom filter') ? '' : was + ' ' + scene + ' ' + steps.slice(0, 80); })()`);
      equal(wrong, '', kind);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'one typed key does not spoil the comparison of families',
  async () => {
    for (const kind of FAMILIES) {
      await open('#work?kind=bloom&n=12&by=fpr&fpr=0.1&keys=apple');
      await shown('[aria-label="A key to add"]').fill('my own');
      await shown('[aria-label="A key to add"]').press('Enter');
      if (kind !== 'bloom') await page.click(`.families label:has-text("${kind}")`);
      truth(await view(`v.get('work').keys.includes('my own') && v.get('work').keys.includes('apple')`), `${kind}: my keys are kept`);
      const { fpr, asked, steps } = await view(
        `(() => { const w = v.get('work'); return { fpr: w.filter.stats().fprNow, asked: w.fpr.value, steps: w.player.script.map((s) => s.text).join(' ') }; })()`,
      );
      truth(fpr > asked / 1000, `${kind}: an FPR of ${fpr} where ${asked} was asked`);
      truth(!steps.includes('small Bloom filter'), `${kind}: ${steps.slice(0, 100)}`);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'the legend has the colours of the picture',
  async () => {
    for (const kind of FAMILIES) {
      await open();
      await page.click(`.families label:has-text("${kind}")`);
      const wrong = await page.evaluate(() => {
        const w = nayPlayground.views.get('work');
        const { stage } = w;
        const ratio = stage.canvas.width / stage.element.clientWidth;
        const rgb = (css) => {
          const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
          c.fillStyle = css;
          c.fillRect(0, 0, 1, 1);
          return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const legend = [...w.legend.querySelectorAll('i')].map((i) => rgb(getComputedStyle(i).backgroundColor));
        stage.clearMarks();
        stage.drawAll();
        const copy = document.createElement('canvas');
        Object.assign(copy, { width: stage.canvas.width, height: stage.canvas.height });
        const ink = copy.getContext('2d', { willReadFrequently: true });
        ink.drawImage(stage.canvas, 0, 0);
        for (let cell = 0; cell < stage.ncells; cell += 1) {
          const [x, y] = stage.place(cell);
          const d = stage.size / 2;
          const near = [...ink.getImageData((x + d) * ratio, (y + Math.max(1, stage.size * 0.15)) * ratio, 1, 1).data].slice(0, 3);
          const like = (c) => c.every((v, i) => Math.abs(v - near[i]) <= 3);
          if (stage.size >= 18 && !legend.some(like)) return `cell ${cell} is ${near}, the legend has ${legend.join(' and ')}`;
        }
        return '';
      });
      equal(wrong, '', kind);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'the memtable is searched, not skipped by a filter; the canvas is no image; no frame times without ?debug',
  async () => {
    await open('#lsm?kind=bloom&ratio=4&levels=3&bits=5&skew=0&get=user00040%3A07');
    const classes = await page.evaluate(() => document.querySelector('svg.lsm .mem').getAttribute('class'));
    truth(classes.includes('searched') && !classes.includes('nay'), classes);
    await page.click('#tab-work');
    equal(await shown('.stage canvas').getAttribute('role'), 'application', 'the role of the picture');
    equal(await page.textContent('#meter'), '', 'the footer');
  },
  { reducedMotion: 'reduce' },
);

await test(
  'a phone: question, answer and picture are in the first screen',
  async () => {
    for (const kind of FAMILIES) {
      await open(`#work?kind=${kind}&n=24&by=fpr&fpr=0.1&fill=12&ask=moon`);
      const [ask, answer, picture] = await page.evaluate(() =>
        ['[aria-label="A key to ask for"]', '[data-answer]', '.stage canvas'].map((s) => document.querySelector(`#view-work ${s}`).getBoundingClientRect().top),
      );
      truth(ask < 400 && answer < 600 && picture < 660, `${kind}: ${ask}, ${answer}, ${picture} of 740`);
      equal(await page.evaluate(() => scrollY), 0, 'not scrolled');
    }
  },
  { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' },
);

await test(
  'a phone: every view begins with what it is about: question, answer, picture',
  async () => {
    for (const [hash, ...parts] of [
      ['#start?step=5', '.tour h3', '[data-answer]', 'svg.lines'],
      ['#compare', '[aria-label="A key to ask all of them"]', '.says', '.stage canvas'],
      ['#overfill', 'button:text-is("+100%")', '.figures', '.stage canvas'],
      ['#lsm', '[aria-label="A key of the tree"]', 'svg.lsm'],
      ['#plan', '.field', 'h3', '.figures'],
      ['#inside', '.drop', '[aria-label="A key to ask for"]', '.figures'],
    ]) {
      await open(hash);
      for (const part of parts) {
        const box = await shown(part).first().boundingBox();
        truth(box.y >= 0 && box.y < 700, `${hash}: ${part} at ${box.y} of 740`);
      }
    }
  },
  { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' },
);

// ---- the guided opening ----

await test(
  'the opening, by keyboard alone: nine steps forward and back, each a link; axe-core finds nothing in any',
  async () => {
    await page.goto(url);
    await page.waitForSelector('#view-start:not([hidden]) .tour h3');
    await page.keyboard.press('Tab');
    const reach = async (name) => {
      for (let i = 0; i < 60; i += 1) {
        if ((await page.evaluate(() => document.activeElement.textContent)).includes(name)) return;
        await page.keyboard.press('Tab');
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    const titles = [];
    for (let step = 1; step <= 9; step += 1) {
      titles.push(await shown('.tour h3').textContent());
      truth((await page.evaluate(() => location.hash)).includes(`step=${step}`), `step ${step} is in the address`);
      await accessible(`step ${step}`);
      await fits(`step ${step}`);
      if (step === 9) break;
      await reach('Next');
      await page.keyboard.press('Enter');
      equal(await page.evaluate(() => document.activeElement.tagName), 'H3', 'the heading of the next step has the focus');
    }
    equal(new Set(titles).size, 9, 'titles');
    await open('#start?step=7&fill=20');
    const slider = shown('input[type=range]');
    await slider.focus();
    await page.keyboard.press('ArrowRight');
    equal(await page.evaluate(() => document.activeElement.type), 'range', 'the slider keeps the focus');
    truth((await shown('.tour').innerText()).includes('21 keys'), 'and works');
    for (const hash of ['#start?step=0', '#start?step=99&key=%00', '#start?step=x', '#start?step=7&fill=1e9', '#start?step=5&key=<b>']) {
      await open(hash);
      truth(await shown('.tour h3').isVisible(), hash);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'the opening says what the library does, for any first key',
  async () => {
    await open('#start');
    for (const key of ['apple', 'a', 'zebra', '\u{1f34e}', 'x y z', '0'.repeat(60)]) {
      for (let step = 1; step <= 8; step += 1) {
        await page.evaluate((hash) => {
          history.replaceState(null, '', hash);
          dispatchEvent(new HashChangeEvent('hashchange'));
        }, `#start?step=${step}&key=${encodeURIComponent(key)}&fill=${step * 3}&bits=${step + 3}`);
        equal(await notice(), '', `step ${step}`);
        const wrong = await page.evaluate(() => {
          const t = nayPlayground.views.get('start');
          const text = t.element.textContent;
          const bits = [...t.picture.querySelectorAll('.value')].map((e) => e.textContent).join('');
          const payload = t.filter.payload();
          for (let i = 0; i < t.nbits; i += 1) {
            const b = t.base + i;
            if (bits[i] !== String((payload[b >> 3] >> (b & 7)) & 1)) return `bit ${i} is drawn as ${bits[i]}`;
          }
          if (t.picture.querySelector('.key')) {
            const asked = t.asked;
            const why = t.filter.explain(asked);
            const at = why.steps.map((s) => s.bit - t.base);
            const ways = t.picture.querySelectorAll('.way').length;
            if (ways !== why.steps.length) return `${ways} lines for ${why.steps.length} positions`;
            const answer = t.body.querySelector('[data-answer]')?.dataset.answer;
            if (answer && (answer === 'maybe') !== why.maybe) return `it says ${answer}`;
            const named = /bits? ([0-9]+(?:(?:, | and )[0-9]+)*)/.exec(t.body.textContent);
            if (named && t.at < 6)
              for (const n of named[1].match(/[0-9]+/g)) if (!at.includes(Number(n))) return `bit ${n} is none of ${at}: ${text}`;
          }
          for (const tr of t.body.querySelectorAll('tbody tr')) {
            const bit = Number(tr.children[0].textContent.slice(4));
            for (const k of tr.children[1].dataset.keys.split('\n'))
              if (t.ledger.statusOf(k) !== 'in' || !t.filter.explain(k).steps.some((s) => s.bit - t.base === bit)) return `bit ${bit} by ${k}`;
          }
          return '';
        });
        equal(wrong, '', `${key.slice(0, 10)}, step ${step}`);
      }
    }
  },
  { reducedMotion: 'reduce' },
);

// ---- side by side, frames ----

await test(
  'side by side: every family beside others; answers, lines and rates are those of its filter',
  async () => {
    for (let i = 0; i < FAMILIES.length; i += 1) {
      const kinds = [FAMILIES[i], FAMILIES[(i + 1) % FAMILIES.length], FAMILIES[(i + 4) % FAMILIES.length]];
      await open(`#compare?kinds=${kinds}&n=${[30, 400, 1500][i % 3]}&fpr=0.1&ask=moon`);
      equal(await notice(), '', `${kinds}`);
      await button('A key that fools').click();
      const wrong = await page.evaluate(() => {
        const c = nayPlayground.views.get('compare');
        const rows = [...document.querySelectorAll('#view-compare tbody tr')].map((tr) => [...tr.children].map((e) => e.textContent));
        for (const [j, side] of c.made.entries()) {
          if (!side.filter) return side.error;
          if (c.keys.some((key) => !side.filter.has(key))) return `${side.kind}: a false nay`;
          if (rows[0][j + 1] !== (side.filter.has(c.asked) ? 'maybe' : 'nay')) return `${side.kind}: ${rows[0][j + 1]}`;
          const lines = Number(rows[1][j + 1]);
          if (lines < 1 || lines > side.why.steps.length * 2) return `${side.kind}: ${lines} lines`;
          if (side.kind === 'blocked' && lines !== 1) return 'blocked reads more than a line';
          const s = side.filter.stats();
          const [low, high] = side.measured.range;
          if (s.fprNow < low * 0.7 || s.fprNow > high * 1.4) return `${side.kind}: ${s.fprNow} computed, ${low} to ${high} measured`;
        }
        return '';
      });
      equal(wrong, '', `${kinds}`);
    }
    await accessible('side by side');
    for (const hash of ['#compare?kinds=nonsense', '#compare?kinds=bloom', '#compare?kinds=bloom,bloom,bloom,bloom&n=x&fpr=7', '#compare?kinds=&ask=']) {
      await open(hash);
      truth(await shown('h2').isVisible(), hash);
      truth((await view(`v.get('compare').chosen.length`)) >= 2, `${hash}: two at least`);
    }
  },
  { reducedMotion: 'reduce' },
);

await test(
  'in a frame: picture, question and steps alone; it starts when it is seen; no scrolling, no layout shift',
  async () => {
    const host = join(mkdtempSync(join(tmpdir(), 'nay-embed-')), 'host.html');
    const frame = (query) => `<iframe src="${url}?embed=${query}" title="f" style="width: 100%; height: 640px"></iframe>`;
    writeFileSync(
      host,
      `<!doctype html><html lang="en"><title>t</title><main><h1>t</h1>${frame('work&amp;kind=cuckoo&amp;n=40&amp;by=fpr&amp;fpr=0.05&amp;fill=30&amp;ask=moon')}<p style="height: 3000px">text</p>${frame('lsm')}</main>`,
    );
    await page.addInitScript(() => {
      globalThis.shifted = 0;
      new PerformanceObserver((all) => {
        for (const e of all.getEntries()) if (!e.hadRecentInput) globalThis.shifted += e.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(pathToFileURL(host).href);
    const [, first, second] = page.frames();
    await first.waitForSelector('[data-answer]');
    for (const selector of ['header.top', 'nav', '.head', '.families', '.chips'])
      equal(await first.locator(selector).first().isVisible(), false, `${selector} in a frame`);
    for (const selector of ['.stage canvas', '[aria-label="A key to ask for"]', 'ol.steps', '#whole'])
      equal(await first.locator(selector).first().isVisible(), true, `${selector} in a frame`);
    truth((await first.locator('.stage canvas').boundingBox()).y < 400, 'the picture is at the top');
    equal(await second.evaluate(() => document.querySelector('#view-lsm h1')), null, 'the one below has not started');
    equal(await page.evaluate(() => [scrollY, globalThis.shifted]), [0, 0], 'scrolled, shifted');
    await first.locator('[aria-label="A key to ask for"]').fill('sun');
    await first.locator('[aria-label="A key to ask for"]').press('Enter');
    const whole = await first.locator('#whole').getAttribute('href');
    truth(whole.includes('#work?kind=cuckoo') && whole.includes('ask=sun'), `the link to the whole page: ${whole}`);
    await page.evaluate(() => scrollTo(0, 4000));
    await second.waitForSelector('#view-lsm h1', { state: 'attached' });
    for (const query of ['start&step=6', 'compare&kinds=bloom,xor', 'overfill&experiment=twice', 'plan', 'inside&sample=leveldb', 'nonsense', 'work&kind=zzz&n=-1']) {
      await page.goto(`${url}?embed=${query}`);
      await page.waitForSelector('[role=tabpanel]:not([hidden]) :is(h1, h2)', { state: 'attached' });
      equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${query}: not wider`);
      await accessible(`embed=${query}`);
    }
  },
  { viewport: { width: 760, height: 740 }, reducedMotion: 'reduce' },
);

await test(
  'forced colours, no storage: every view is there',
  async () => {
    await page.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new Error('no storage');
        },
      });
    });
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    await open('#start');
    for (const id of VIEWS) {
      await page.click(`#tab-${id}`);
      truth(await shown('h2').isVisible(), id);
    }
    await page.click('#theme');
  },
  { reducedMotion: 'reduce' },
);

await browser.close();
finish();
