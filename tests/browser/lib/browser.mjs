// Debian's Chromium without a window, with a fresh profile and no background connections.

import { existsSync } from 'node:fs';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-first-run',
  // A page of a journey lives for seconds: compilers that optimize cost a fifth more processor time than they save.
  '--js-flags=--no-turbofan --no-maglev',
];

/** `chromium-headless-shell` does a third less work than `chromium` for the same pages, without push messages and full screen. */
export async function startBrowser(name = 'chromium-headless-shell') {
  const executablePath = `/usr/bin/${name}`;
  if (!existsSync(executablePath)) throw new Error(`${executablePath} is missing: run scripts/test, which installs it`);
  const { chromium } = await import('playwright-core').catch((error) => {
    throw new Error(`${error.message}\ntests/browser/node_modules is missing: run scripts/test, which installs it`);
  });
  return chromium.launch({ executablePath, args: FLAGS });
}
