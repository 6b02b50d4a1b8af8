// Opens a page in Chromium and prints what it finds as JSON: `node page.mjs FILE`. The packages are in the
// folder TOOLHOST_NPM_TOOLS.

import { pathToFileURL } from 'node:url';

import { launch, violations } from './browser.mjs';

const browser = await launch();
try {
  const page = await browser.newPage();
  const requests = [];
  const dialogs = [];
  page.on('request', (request) => requests.push(request.url().split(':')[0]));
  page.on('dialog', async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  await page.setViewport({ width: 360, height: 640 });
  await page.goto(pathToFileURL(process.argv[2]).href, { waitUntil: 'networkidle0' });
  const found = await page.evaluate(() => ({
    title: document.title,
    text: document.body.innerText,
    elements: [...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort(),
    handlers: [...document.querySelectorAll('*')].flatMap((e) =>
      e.getAttributeNames().filter((name) => name.startsWith('on')),
    ),
    tools: [...document.querySelectorAll('article')].map((e) => e.id),
    deadLinks: [...document.querySelectorAll('a')]
      .map((e) => e.getAttribute('href'))
      .filter((href) => !href.startsWith('#') || !document.getElementById(href.slice(1))),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
  // What a click on a summary shows, without a script of the page.
  const closed = await page.$eval('article details pre', (e) => e.checkVisibility());
  await page.click('article details summary');
  const opened = await page.$eval('article details pre', (e) => e.checkVisibility());
  console.log(JSON.stringify({ ...found, requests, dialogs, closed, opened, violations: await violations(page) }));
} finally {
  await browser.close();
}
