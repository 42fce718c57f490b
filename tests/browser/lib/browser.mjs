// Debian's Chromium with a fresh profile and no background connections.

import { existsSync } from 'node:fs';

const CHROMIUM = '/usr/bin/chromium';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-first-run',
];

export async function startBrowser() {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: run scripts/test, which installs it`);
  const { chromium } = await import('playwright-core').catch((error) => {
    throw new Error(`${error.message}\ntests/browser/node_modules is missing: run scripts/test, which installs it`);
  });
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}
