// The report of a rehearsal, a file, on a phone: a keyboard reaches every plot and table, and scrolls the wide ones.

import { pathToFileURL } from 'node:url';

import { eventually, ok, same } from '../lib/check.mjs';

export default async function rehearsalReport(run) {
  const context = await run.browser.newContext({ viewport: { width: run.width, height: 844 } });
  const page = await context.newPage();
  await page.goto(pathToFileURL(run.settings.report).href);
  const labels = await page.locator('.plot, .table').evaluateAll((all) => all.map((region) => region.ariaLabel));
  const reached = [];
  let scrolled = 0;
  for (let presses = 0; reached.length < labels.length && presses < 100; presses += 1) {
    await page.keyboard.press('Tab');
    const region = await page.evaluate(() => {
      const { ariaLabel, scrollWidth, clientWidth } = document.activeElement;
      return {
        folded: document.activeElement.matches('details:not([open]) > summary'),
        label: document.activeElement.matches('.plot, .table') ? ariaLabel : null,
        wide: scrollWidth > clientWidth,
      };
    });
    if (region.folded) await page.keyboard.press('Enter');
    if (region.label === null) continue;
    reached.push(region.label);
    if (!region.wide) continue;
    await page.keyboard.press('ArrowRight');
    await eventually(`${region.label} scrolls`, () => page.evaluate(() => document.activeElement.scrollLeft > 0));
    scrolled += 1;
  }
  same(reached, labels);
  ok(scrolled > 0, 'something is wider than a phone');
  await context.close();
}
