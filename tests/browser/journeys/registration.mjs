// Registering from a network that registers much: the browser computes, and who has no scripts waits.

import { ok, same } from '../lib/check.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

export default async function registration(run) {
  const { locale, width } = run;
  // Each run is in a network of its own.
  const headers = { 'x-forwarded-for': `192.0.${locale === 'zh' ? 2 : 3}.${width % 250}` };
  const visitor = await run.visit();
  await visitor.context.setExtraHTTPHeaders(headers);
  const register = () => visitor.context.request.post('/api/register', { data: { username: newName(), password: PASSWORD } });
  same((await register()).status(), 201, 'the first account is free');
  await visitor.context.clearCookies();
  same((await register()).status(), 403, 'the second one is not');

  const { page, labels } = visitor;
  await visitor.go('/register');
  ok(await visitor.slot('wait').isHidden(), 'who computes need not wait');
  await visitor.inspect('register-computing');
  const name = newName();
  await visitor.fillCredentials(name);
  await visitor.button(labels.register).click();
  await page.waitForURL((url) => url.pathname === visitor.path());
  same((await (await visitor.context.request.get('/api/me')).json()).user.username, name);

  const unlucky = await run.visit();
  await unlucky.context.setExtraHTTPHeaders(headers);
  unlucky.expectFailure('net::ERR_FAILED');
  await unlucky.context.route('**/static/proof.*', (route) => route.abort());
  await unlucky.go('/register');
  await unlucky.slot('wait').waitFor();

  const reader = await run.visit({ scripts: false });
  reader.expect(403, /register$/);
  await reader.context.setExtraHTTPHeaders(headers);
  await reader.go('/register');
  const due = () => reader.slot('wait').locator('time').getAttribute('datetime');
  const first = await due();
  await reader.inspect('register-wait');
  await reader.fillCredentials(newName());
  await reader.button(labels.register).click();
  await reader.page.locator('.alert').waitFor();
  same(await due(), first, 'the wait goes on from where it was');
  await reader.inspect('register-wait-refused');
}
