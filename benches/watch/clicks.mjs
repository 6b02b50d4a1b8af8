// Measures the three clicks from the start of the page to the steps of a failed call, 20 times each, from the click to the
// frame that shows what it leads to: `node clicks.mjs ADDRESS`, where ADDRESS is what `toolhost watch` prints.
// `cargo run --release -p toolhost-bench -- calls` runs it over a million calls.

import { launch } from '../../host/toolhost-cli/tests/npm/browser.mjs';

const [, , address] = process.argv;
const CLICKS = {
  failed: '[data-key=f]',
  call: 'table.calls tbody tr:has([title="it may have a recording"]) a',
  steps: '[data-key=s]',
};
const browser = await launch();
const page = await browser.newPage();
await page.setViewport({ width: 1200, height: 800 });

/** Returns the milliseconds from a click to the frame that shows what it leads to. */
const click = (selector) =>
  page.evaluate(
    (it) =>
      new Promise((done) => {
        const isShown = () => !document.querySelector('main').hasAttribute('aria-busy');
        const begun = performance.now();
        const wait = () =>
          isShown() ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))) : setTimeout(wait);
        addEventListener('hashchange', wait, { once: true });
        document.querySelector(it).click();
      }),
    selector,
  );

const times = Object.fromEntries(Object.keys(CLICKS).map((name) => [name, []]));
await page.goto(address);
for (let round = 0; round < 20; round += 1) {
  await page.evaluate(() => {
    location.hash = '#/calls';
  });
  await page.waitForFunction(() => location.hash === '#/calls' && document.querySelector('table.calls tbody tr'));
  await new Promise((done) => setTimeout(done, 300));
  for (const [name, selector] of Object.entries(CLICKS)) {
    times[name].push(await click(selector));
  }
}
for (const [name, all] of Object.entries(times)) {
  all.sort((one, other) => one - other);
  console.log(`    in a browser, ${name}: median ${all[10].toFixed(1)} ms, most ${all[19].toFixed(1)} ms`);
}
await browser.close();
