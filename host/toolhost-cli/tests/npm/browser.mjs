// Chromium, and the rules of accessibility. The packages are in the folder TOOLHOST_NPM_TOOLS.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(`${process.env.TOOLHOST_NPM_TOOLS}/package.json`);
const load = async (name) => (await import(pathToFileURL(resolve(name)).href)).default;
const axe = await readFile(resolve('axe-core'), 'utf8');

/** Starts the browser. */
export async function launch() {
  const chromium = await load('@sparticuz/chromium');
  const puppeteer = await load('puppeteer-core');
  return puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: 'shell' });
}

/** Returns the rules of accessibility that what a page shows violates, each with its first element. */
export async function violations(page) {
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run());
  return found.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
}
