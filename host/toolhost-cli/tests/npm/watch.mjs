// Looks at the page of `toolhost watch` in Chromium: `node watch.mjs JSON`, with `{page, bare, alice, bob, other,
// pictures?}`: the addresses of a page with a bundle and of one without, tokens of two viewers, the address of a page of
// another origin, and the folder for pictures. Prints what each check found, as JSON: null, or why it failed.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';

import { launch, violations } from './browser.mjs';
import { answerWithHostileTexts, strangers } from './hostile.mjs';

const { page: address, bare, alice, bob, other, pictures } = JSON.parse(process.argv[2]);
const WIDE = { width: 1200, height: 800 };
const browser = await launch();
const results = {};
const requests = [];
const alarms = [];

/** Opens a page of a viewer, and watches what it does. */
async function open(hash = '', { token = alice, base = address, size = WIDE, before } = {}) {
  const page = await browser.newPage();
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => alarms.push(`error: ${error.stack}`));
  page.on('dialog', async (dialog) => {
    alarms.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  await page.exposeFunction('alarm', (text) => alarms.push(text));
  await page.evaluateOnNewDocument(() => {
    addEventListener('securitypolicyviolation', (event) =>
      window.alarm(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  if (before) await page.evaluateOnNewDocument(before);
  await page.setViewport(size);
  await page.goto(`${base}${token ? `#token=${token}&${hash.slice(1)}` : hash}`);
  await settled(page);
  return page;
}

const settled = (page) =>
  page.waitForFunction(() => !document.querySelector('main').hasAttribute('aria-busy') && document.querySelector('h1'));

/** Shows a view. */
async function at(page, hash) {
  await page.evaluate(
    (to) =>
      new Promise((done) => {
        if (location.hash === to) done();
        addEventListener('hashchange', done, { once: true });
        location.hash = to;
      }),
    hash,
  );
  await settled(page);
}

/** Clicks, and waits for the view that it leads to. */
async function click(page, selector) {
  await page.evaluate(
    (it) =>
      new Promise((done) => {
        addEventListener('hashchange', done, { once: true });
        document.querySelector(it).click();
      }),
    selector,
  );
  await settled(page);
}

const text = (page, selector = 'main') => page.$eval(selector, (element) => element.innerText);
const shows = (page, wanted, selector) =>
  page.waitForFunction(
    (it, where) => document.querySelector(where)?.innerText.includes(it),
    { timeout: 10_000 },
    wanted,
    selector ?? 'main',
  );
const focused = (page) => page.evaluate(() => document.activeElement.innerText);

/** Clicks the button with this text. */
const press = (page, label) =>
  page.evaluate(
    (it) => [...document.querySelectorAll('button')].find((button) => button.innerText.startsWith(it)).click(),
    label,
  );

/** Sends a request to the API as a viewer. */
async function api(path, body, token = bob) {
  const response = await fetch(`${address}api/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  return { status: response.status, ...(await response.json()) };
}

async function check(name, run) {
  const pages = (await browser.pages()).length;
  const from = alarms.length;
  try {
    await run();
    assert.deepEqual(alarms.slice(from), []);
    results[name] = null;
  } catch (error) {
    results[name] = error.stack;
  }
  for (const page of (await browser.pages()).slice(pages)) await page.close();
}

const { calls } = await api('calls');
const failed = calls.find((call) => call.tool === 'call_tools__run' && call.status === 'error');
const waiting = (await api('approvals')).approvals;
const approvalOf = (path) => waiting.find(({ what }) => what.files?.[0].path === path).id;
const approvalOfTool = (tool) => waiting.find((approval) => approval.tool === tool).id;

await check('a page without a token asks for it and shows nothing', async () => {
  const page = await open('#/calls', { token: null });
  assert.match(await text(page), /A token is needed/);
  await page.type('#token', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#token')?.value === '');
  await page.type('#token', alice);
  await page.keyboard.press('Enter');
  await shows(page, 'Calls', 'h1');
});

await check('the token leaves the address and the history', async () => {
  const page = await open('#/charts');
  assert.equal(await page.evaluate(() => location.hash), '#/charts');
  const history = await page.createCDPSession().then((session) => session.send('Page.getNavigationHistory'));
  assert.deepEqual(
    history.entries.filter(({ url }) => url.includes(alice)),
    [],
  );
  assert.equal((await page.cookies()).length, 0);
});

await check('each call is a line, and inner and denied ones are marked', async () => {
  const page = await open('#/calls');
  const lines = await page.$$eval('table.calls tbody tr', (rows) => rows.map((row) => row.innerText));
  assert.equal(lines.length, calls.length);
  assert.ok(
    lines.some((line) => line.includes('↳ text__upper')),
    lines.join('\n'),
  );
  assert.ok(
    lines.some((line) => line.includes('fetch__run') && line.includes('denied 1')),
    lines.join('\n'),
  );
});

await check('three clicks lead from the start to the steps of a failed call, and keys step through it', async () => {
  const page = await open();
  await click(page, '[data-key=f]');
  assert.ok((await page.$$eval('table.calls .badge.ok', (all) => all.length)) === 0);
  await click(page, `a[href="#/calls/0/${failed.id}"]`);
  await click(page, '[data-key=s]');
  const chosen = () => page.$eval('[aria-selected=true]', (it) => it.id);
  assert.equal(await chosen(), 'step-0');
  await page.waitForFunction(() => document.activeElement.getAttribute('role') === 'listbox');
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  assert.equal(await chosen(), 'step-2');
  assert.match(await text(page, '.step'), /Step 2/);
  await page.keyboard.press('k');
  await page.keyboard.press('End');
  assert.notEqual(await chosen(), 'step-1');
  assert.match(await page.evaluate(() => location.hash), /at=\d+$/);
  await press(page, 'Replay');
  await shows(page, 'The replay did the same');
  await at(page, `#/calls/0/${failed.id}/steps?function=open-at`);
  assert.ok(
    (await page.$$eval('[role=option]', (all) => all.every((it) => it.innerText.includes('open-at')) && all.length)) >
      0,
  );
});

await check('a call shows its arguments, receipt, denials and the calls that it made', async () => {
  const of = (tool) => calls.find((call) => call.tool === tool && call.status === 'ok').id;
  const page = await open(`#/calls/0/${of('call_tools__run')}`);
  assert.ok((await page.$$('.waterfall a')).length >= 3);
  await page.evaluate(() => document.querySelectorAll('.waterfall a')[1].focus());
  await page.keyboard.press('Enter');
  await shows(page, 'Made by');
  await at(page, `#/calls/0/${of('fetch__run')}`);
  await shows(page, 'Allowed by');
  await at(page, `#/calls/0/${failed.id}`);
  const shown = await text(page);
  for (const part of ['a.txt', 'Ran for', 'Copy as command', 'Download .call']) assert.ok(shown.includes(part), part);
  await press(page, 'Test case');
  await shows(page, 'Copy test case');
});

await check('a recording is downloaded as it is', async () => {
  const page = await open(`#/calls/0/${failed.id}`);
  const kept = await page.evaluate(
    () =>
      new Promise((done) => {
        URL.createObjectURL = (blob) => {
          blob.text().then(done);
          return location.hash;
        };
        [...document.querySelectorAll('button')].find((button) => button.innerText.startsWith('Download')).click();
      }),
  );
  assert.equal(JSON.parse(kept.split('\n')[0]).format, 'toolhost.call');
});

await check('a link keeps the filters', async () => {
  const page = await open('#/calls?tool=text__upper&status=ok');
  const tools = () => page.$$eval('table.calls tbody a', (all) => all.map((it) => it.innerText));
  const first = await tools();
  assert.ok(first.length > 0 && first.every((tool) => tool === 'text__upper'), first.join());
  await page.reload();
  await settled(page);
  assert.deepEqual(await tools(), first);
  assert.equal(await page.$eval('[name=tool]', (it) => it.value), 'text__upper');
  await at(page, '#/calls?text=no%20call%20has%20this');
  assert.match(await text(page), /No call is kept that fits/);
  await at(page, '#/calls');
  await page.type('[name=tool]', 'file-system__read');
  await page.keyboard.press('Enter');
  await shows(page, 'Calls', 'h1');
  await page.waitForFunction(() => location.hash === '#/calls?tool=file-system__read');
});

const callByHand = (instance) => api('agents/default/calls', { tool: 'text__upper', args: { text: 'new' }, instance });

await check('new calls appear while the list is live, and no line moves under the pointer', async () => {
  const page = await open('#/calls?instance=live');
  await callByHand('live');
  await page.waitForSelector('table.calls tbody tr');
  await page.hover('table.calls tbody tr');
  await callByHand('live');
  await shows(page, '1 new call');
  assert.equal((await page.$$('table.calls tbody tr')).length, 1);
  await page.mouse.move(5, 5);
  await page.waitForFunction(() => document.querySelectorAll('table.calls tbody tr').length === 2);
  await page.keyboard.press('l');
  assert.equal(await page.$eval('[data-key=l]', (it) => it.getAttribute('aria-pressed')), 'false');
  await callByHand('live');
  await new Promise((done) => setTimeout(done, 1_500));
  assert.equal((await page.$$('table.calls tbody tr')).length, 2);
});

await check('a tool is called by hand with a form of its schema', async () => {
  const page = await open('#/agents/default/text__upper');
  const call = async () => {
    await press(page, 'Call');
    await page.waitForFunction(() => !document.querySelector('form.call button.strong').disabled);
  };
  await page.evaluate(() => document.querySelector('form.call input[type=checkbox]').click());
  await page.$eval('form.call textarea', (it) => {
    it.value = '{"text": 7}';
  });
  await call();
  await shows(page, 'E_TOOL_INVALID_ARGS');
  await page.evaluate(() => document.querySelector('form.call input[type=checkbox]').click());
  await page.$eval('form.call textarea', (it) => {
    it.value = '';
  });
  await page.type('form.call textarea', 'by hand');
  await call();
  await shows(page, 'BY HAND');
  assert.equal((await api('calls?text=BY%20HAND')).calls.length, 1);
});

await check('what waits stands in the title and the navigation, and a hasty click decides nothing', async () => {
  const page = await open('#/approvals');
  await page.waitForFunction((count) => document.title.startsWith(`(${count}) `), {}, waiting.length);
  assert.ok((await text(page, 'nav')).includes(String(waiting.length)));
  await click(page, `a[href="#/approvals/${approvalOf('a.txt')}"]`);
  const diff = await text(page, '.diff');
  assert.ok(diff.includes('-two') && diff.includes('+three'), diff);
  const button = await page.$('button.strong');
  await button.click({ clickCount: 2 });
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal((await api(`approvals/${approvalOf('a.txt')}`)).state, 'waiting');
});

/** Opens an approval and confirms a decision. */
async function decide(page, path, decision, why) {
  await at(page, `#/approvals/${approvalOf(path)}`);
  await press(page, decision);
  await page.waitForSelector('.confirm form');
  await page.type('#why', why);
  await page.waitForFunction(() => !document.querySelector('.confirm form .row button').disabled);
}

await check('an approval and a refusal are confirmed with their effect, and say by whom and why', async () => {
  const page = await open('#/approvals');
  await decide(page, 'a.txt', 'Approve', 'fine');
  assert.match(await text(page, '.confirm'), /changes a\.txt\. It is done once, exactly as shown here/);
  await picture(page, 'approve');
  await press(page, 'Approve it');
  await shows(page, 'alice');
  assert.equal((await api(`approvals/${approvalOf('a.txt')}`)).decision.why, 'fine');
  await shows(page, 'Not yet', '.outcome');
  assert.ok(await page.evaluate(() => document.activeElement.matches('.outcome')));
  await decide(page, 'b.txt', 'Deny', 'use <b>a.txt</b>');
  await press(page, 'Deny it');
  await shows(page, 'use <b>a.txt</b>', '.outcome');
  assert.equal((await api(`approvals/${approvalOf('b.txt')}`)).state, 'denied');
});

await check('a request and a call that wait are shown whole, digit for digit', async () => {
  const page = await open(`#/approvals/${approvalOfTool('fetch__run')}`);
  const request = await text(page);
  for (const part of ['POST', 'http://127.0.0.1:9/v1/things?all=1', 'x-colour', 'red', '<b>body</b>']) {
    assert.ok(request.includes(part), `${part}: ${request}`);
  }
  await at(page, `#/approvals/${approvalOfTool('echo__say')}`);
  const args = await text(page, '.json pre');
  assert.ok(args.includes('"n": 12345678901234567890') && args.includes('"text": "<i>"'), args);
});

await check('who decides second learns who was first', async () => {
  const page = await open('#/approvals');
  await decide(page, 'c.txt', 'Approve', '');
  // It does not learn of the decision before it sends its own.
  await page.setRequestInterception(true);
  let isCut = true;
  page.on('request', (request) => (isCut && request.method() === 'GET' ? request.abort() : request.continue()));
  await api(`approvals/${approvalOf('c.txt')}`, { decision: 'deny', why: 'no' });
  await page.evaluate(() => {
    [...document.querySelectorAll('button')].find((button) => button.innerText === 'Approve it').click();
  });
  await page.waitForResponse((response) => response.status() === 409).catch(() => undefined);
  isCut = false;
  await shows(page, 'bob', '.outcome');
  assert.equal((await api(`approvals/${approvalOf('c.txt')}`)).state, 'denied');
});

await check('charts, agents and budgets show numbers and lead to calls', async () => {
  const page = await open('#/charts');
  assert.equal((await page.$$('figure')).length, 4);
  await page.evaluate(() =>
    [...document.querySelectorAll('main a')].find((it) => it.innerText === 'text__upper').click(),
  );
  await page.waitForFunction(() => location.hash.startsWith('#/calls?tool=text__upper'));
  await at(page, '#/budgets');
  assert.match(await text(page), /of 100/);
  await at(page, '#/agents/default/file-system__read');
  assert.match(await text(page), /Path relative to the workdir/);
});

await check('a page without a bundle says how to load one', async () => {
  const page = await open('#/agents', { base: bare });
  assert.match(await text(page), /toolhost watch --bundle DIR/);
  await at(page, `#/calls/0/${failed.id}/steps`);
  assert.match(await text(page), /toolhost watch --bundle DIR/);
  await at(page, '#/calls');
  assert.ok((await page.$$('table.calls tbody tr')).length > 0);
});

await check('each of several state roots has its views', async () => {
  const page = await open('#/calls', { base: bare });
  await page.select('#root', '1');
  await shows(page, 'No call is kept that fits');
  await page.keyboard.press('2');
  await shows(page, 'Approvals', 'h1');
  assert.equal(await page.evaluate(() => location.hash), '#/approvals?root=1');
  await shows(page, 'No call waits for approval');
  await at(page, `#/calls/0/${failed.id}`);
  assert.equal(await page.$eval('#root', (it) => it.value), '0');
});

await check('a page whose server does not answer says so', async () => {
  const page = await open('#/calls');
  await page.setOfflineMode(true);
  await shows(page, 'what is shown may be old', '#trouble');
  await page.setOfflineMode(false);
  await page.waitForFunction(() => document.querySelector('#trouble').innerText === '');
});

await check('going back shows a list where it was', async () => {
  const page = await open('#/calls', { size: { width: 1200, height: 300 } });
  await page.evaluate(() => scrollTo(0, 250));
  await click(page, 'table.calls tbody tr:last-child a');
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.goBack();
  await shows(page, 'Calls', 'h1');
  // What runs stands above the list, and comes later.
  await page.waitForFunction(() => Math.abs(scrollY - 250) < 100);
});

await check('keys reach each view and open a line', async () => {
  const page = await open('#/calls');
  await page.keyboard.press('3');
  await shows(page, 'Charts', 'h1');
  await page.keyboard.press('1');
  await shows(page, 'Calls', 'h1');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
  const tool = await focused(page);
  await page.keyboard.press('Enter');
  await shows(page, tool, 'h1');
  await page.keyboard.press('u');
  await shows(page, 'Calls', 'h1');
  await page.keyboard.type('?');
  assert.match(await text(page, 'dialog'), /next and previous line/);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog'));
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'text');
});

const views = () => [
  '#/calls',
  `#/calls/0/${failed.id}`,
  `#/calls/0/${failed.id}/steps`,
  '#/approvals?all',
  `#/approvals/${approvalOf('d.txt')}`,
  `#/approvals/${approvalOf('a.txt')}`,
  '#/charts',
  '#/agents/default/text__upper',
  '#/budgets',
];

for (const scheme of ['light', 'dark']) {
  await check(`no view violates a rule of accessibility in ${scheme}, and none has small text`, async () => {
    const page = await open('#/calls');
    await page.select('#theme', scheme);
    for (const view of views()) {
      await at(page, view);
      if (view.includes('d.txt')) await press(page, 'Deny');
      assert.deepEqual(await violations(page), [], view);
      const small = await page.$$eval('body *', (all) =>
        all.filter((it) => it.innerText && parseFloat(getComputedStyle(it).fontSize) < 12).map((it) => it.outerHTML),
      );
      assert.deepEqual(small, [], view);
    }
  });
}

await check('no view is wider than a narrow screen', async () => {
  const page = await open('#/calls', { size: { width: 360, height: 640 } });
  for (const view of views()) {
    await at(page, view);
    assert.equal(
      await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
      0,
      view,
    );
  }
});

await check('no other page can show it in a frame', async () => {
  const page = await browser.newPage();
  await page.goto(other);
  const isShown = await page.evaluate(
    (src) =>
      new Promise((done) => {
        const frame = document.createElement('iframe');
        frame.src = src;
        frame.onload = () => done(Boolean(frame.contentDocument) && frame.contentDocument.title === 'toolhost');
        document.body.append(frame);
      }),
    `${address}#/approvals`,
  );
  assert.equal(isShown, false);
  const frame = page.frames().find((it) => it !== page.mainFrame());
  assert.ok(!frame.url().startsWith(address), frame.url());
});

await check('texts of strangers are text in every view, of a thousand calls', async () => {
  const page = await open('#/calls', { before: answerWithHostileTexts });
  const showHostile = (hash, seed, size) =>
    page.evaluate(
      async (to, chosen, count) => {
        Object.assign(window.hostile, { seed: chosen, size: count });
        await new Promise((done) => {
          addEventListener('hashchange', done, { once: true });
          location.hash = `${to}${to.includes('?') ? '&' : '?'}seed=${chosen}`;
        });
        while (document.querySelector('main').hasAttribute('aria-busy')) await new Promise((done) => setTimeout(done));
      },
      hash,
      seed,
      size,
    );
  const clean = async (where) => assert.deepEqual(await page.evaluate(strangers), [], where);
  await showHostile('#/calls', 1, 1_000);
  assert.equal((await page.$$('table.calls tbody tr')).length, 1_000);
  await clean('the list');
  const list = await text(page, 'table.calls');
  for (const shown of ['<script>alert(1)</script>', '\\u{202e}gnp.exe', 'a\\u{0}b', '\\u{d800} alone'])
    assert.ok(list.includes(shown), shown);
  await showHostile('#/approvals?all', 2, 1_000);
  await clean('the approvals');
  for (let seed = 0; seed < 12; seed += 1) {
    for (const view of [
      '#/calls/0/1',
      '#/calls/0/1/steps',
      '#/charts',
      '#/budgets',
      '#/agents/x/t',
      ...[0, 1, 2, 3, 4].map((id) => `#/approvals/${id}`),
    ]) {
      await showHostile(view, seed, 3);
      await page.evaluate(async () => {
        for (const it of document.querySelectorAll('main details')) it.open = true;
        for (const it of document.querySelectorAll('main button:not([disabled])'))
          if (!/Download|Copy/.test(it.innerText)) it.click();
        await new Promise((done) => setTimeout(done));
      });
      await clean(`${view} ${seed}`);
    }
  }
});

/** Writes the picture of a view, if the documentation is made anew. */
async function picture(page, name) {
  if (!pictures) return;
  await page.evaluate(() => scrollTo(0, 0));
  await writeFile(`${pictures}/${name}.webp`, await page.screenshot({ type: 'webp', quality: 80 }));
}

if (pictures) {
  await check('the pictures are made', async () => {
    const page = await open('#/calls');
    const all = {
      calls: '#/calls',
      call: `#/calls/0/${failed.id}`,
      steps: `#/calls/0/${failed.id}/steps?at=3`,
      approvals: '#/approvals?all',
      charts: '#/charts',
      agents: '#/agents/default/text__upper',
      budgets: '#/budgets',
    };
    await page.select('#theme', 'light');
    for (const [name, view] of Object.entries(all)) {
      await at(page, view);
      await picture(page, name);
    }
    await page.select('#theme', 'dark');
    await at(page, '#/calls');
    await picture(page, 'dark');
  });
}

await check('the page asks its own server alone', async () => {
  const elsewhere = requests.filter(
    (url) => !url.startsWith(address) && !url.startsWith(bare) && !url.startsWith('blob:'),
  );
  assert.deepEqual(elsewhere, []);
});

console.log(JSON.stringify(results));
await browser.close();
