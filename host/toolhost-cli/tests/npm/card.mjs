// Shows the card of an approval in Chromium, as a host of MCP Apps does, and prints what it did as JSON:
// `node card.mjs FILE`. FILE is {card, results}: the HTML, and the results that the tool `approval` has, one after the
// other. The packages are in the folder TOOLHOST_NPM_TOOLS.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(`${process.env.TOOLHOST_NPM_TOOLS}/package.json`);
const load = async (name) => (await import(pathToFileURL(resolve(name)).href)).default;
const chromium = await load('@sparticuz/chromium');
const puppeteer = await load('puppeteer-core');
const axe = await readFile(resolve('axe-core'), 'utf8');
const { card, results } = JSON.parse(await readFile(process.argv[2], 'utf8'));

// What a host sets for a card that declares no domains.
const csp =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";

// Runs in the page of the host: a parent that speaks the protocol.
function host({ html, results }) {
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.title = 'card';
  const seen = { methods: [], calls: [], links: [], answers: {}, sizes: 0 };
  globalThis.seen = seen;
  const remaining = [...results];
  const post = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
  globalThis.post = post;
  const answer = {
    'ui/initialize': () => ({
      protocolVersion: '2026-01-26',
      hostInfo: { name: 'test', version: '1' },
      hostCapabilities: { openLinks: {}, serverTools: {} },
      hostContext: { theme: 'dark' },
    }),
    'tools/call': (params) => {
      seen.calls.push(params);
      return remaining.length > 1 ? remaining.shift() : remaining[0];
    },
    'ui/open-link': ({ url }) => {
      seen.links.push(url);
      if (seen.links.length > 1) throw new Error('refused');
      return {};
    },
  };
  addEventListener('message', ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    const { id, method, params } = data;
    if (method === undefined) {
      seen.answers[id] = data.error ? data.error.code : data.result;
    } else if (method === 'ui/notifications/size-changed') {
      seen.sizes += 1;
    } else {
      seen.methods.push(method);
      if (method === 'ui/notifications/initialized') {
        post({ method: 'ui/notifications/tool-input', params: { arguments: { handle: 'pending_x' } } });
        post({ method: 'ui/notifications/tool-result', params: remaining.shift() });
      } else if (answer[method]) {
        try {
          post({ id, result: answer[method](params) });
        } catch (error) {
          post({ id, error: { code: -32000, message: error.message } });
        }
      }
    }
  });
  frame.srcdoc = html;
  document.body.append(frame);
}

const browser = await puppeteer.launch({
  args: chromium.args,
  executablePath: await chromium.executablePath(),
  headless: 'shell',
});
try {
  const page = await browser.newPage();
  const requests = [];
  const dialogs = [];
  const problems = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('dialog', async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  // The card asks again after seconds.
  await page.evaluateOnNewDocument(() => {
    const later = globalThis.setTimeout;
    globalThis.setTimeout = (act, ms) => later(act, ms / 10);
  });
  await page.setViewport({ width: 360, height: 480 });
  await page.goto('about:blank');
  await page.setContent('<!doctype html><html lang="en"><title>host</title><body></body></html>');
  const policy = `<meta http-equiv="Content-Security-Policy" content="${csp}">`;
  await page.evaluate(host, { html: card.replace('<meta charset', `${policy}<meta charset`), results });
  const frame = await page.waitForFrame((it) => it !== page.mainFrame());
  const read = () =>
    frame.evaluate(() => ({
      heading: document.querySelector('h1').textContent,
      state: document.getElementById('state').textContent,
      until: document.getElementById('until').textContent,
      hasButton: document.getElementById('open').checkVisibility(),
      problem: document.getElementById('problem').textContent,
      elements: [...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort(),
      handlers: [...document.querySelectorAll('*')].flatMap((e) =>
        e.getAttributeNames().filter((name) => name.startsWith('on')),
      ),
      theme: document.documentElement.dataset.theme,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    }));
  await frame.waitForFunction(() => document.querySelector('h1').textContent.startsWith('Approval of'));
  const waiting = await read();
  const violations = {};
  for (const theme of ['dark', 'light']) {
    await page.evaluate((theme) => post({ method: 'ui/notifications/host-context-changed', params: { theme } }), theme);
    await frame.waitForFunction((theme) => document.documentElement.dataset.theme === theme, {}, theme);
    await frame.evaluate(axe);
    const found = await frame.evaluate(() => globalThis.axe.run());
    violations[theme] = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  }
  // By the keyboard.
  await frame.focus('#open');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => seen.links.length === 1);
  await page.keyboard.press('Enter');
  await frame.waitForFunction(() => document.getElementById('problem').textContent);
  const refused = await read();
  await page.evaluate(() => {
    post({ id: 'p', method: 'ping' });
    post({ id: 'u', method: 'sampling/createMessage', params: {} });
    // Not from the host: a window that is not the parent.
    window.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: {} }, '*');
  });
  await frame.waitForFunction(() => document.getElementById('open').hidden);
  const decided = await read();
  await page.evaluate(() => post({ id: 't', method: 'ui/resource-teardown', params: {} }));
  await page.waitForFunction(() => 't' in seen.answers);
  const seen = await page.evaluate(() => globalThis.seen);
  console.log(JSON.stringify({ waiting, refused, decided, seen, requests, dialogs, problems, violations }));
} finally {
  await browser.close();
}
