import { disposable } from '@rms/testkit';
import { startDashboard } from './support.ts';

test.each([
  ['http://dashboard.example.com:8090', 'rms (dashboard.example.com 8090)'],
  ['https://dashboard.example.com', 'rms (dashboard.example.com)'],
])('the entry in an authenticator app of %s has the issuer %s', async (DASHBOARD_URL, issuer) => {
  await using dashboard = disposable(await startDashboard({ DASHBOARD_URL }));
  const { send } = await dashboard.signIn();
  const response = await send('POST', '/api/account/second-factor/begin', { body: { password: 'right password' } });
  const { secret, uri } = (await response.json()) as { secret: string; uri: string };
  expect(secret).toBe('ABC');
  const { protocol, pathname, searchParams } = new URL(uri);
  expect([protocol, decodeURIComponent(pathname)]).toEqual(['otpauth:', `/${issuer}:ann+x@example.com`]);
  expect(Object.fromEntries(searchParams)).toEqual({ issuer, secret: 'ABC' });
  expect(uri).not.toContain('+');
});
