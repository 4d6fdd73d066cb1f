import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import { Environment, keepPicture, Role, suiteWorld, violations } from './support.ts';

/** Health is written every five seconds, and the page polls at the same interval. */
const seenMs = 30_000;

describeWith('chromium', 'Health and events in a browser', () => {
  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const page = perSuite(() => world.open(owner));
  const receiver = perSuite(startReceiver);

  const goTo = (path: string, environment = 'live') => page.goto(`/w/${world.workspaceId}/${environment}${path}`);

  test(
    'the circuit of a failing endpoint opens, and the page shows this until the endpoint recovers',
    async () => {
      const call = await world.apiCaller();
      receiver.respondWith(503);
      const { id } = await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
      for (let i = 0; i < 12; i += 1) await call('POST', '/v1/resources', { name: `r${i}` });
      await goTo('/webhooks');
      await page.getByText('Circuit open').waitFor({ timeout: seenMs });
      await page.getByText(/^0\.0 % .*· p95/).waitFor({ timeout: seenMs });
      await goTo(`/webhooks/${id}`);
      const health = page.getByRole('region', { name: 'Health' });
      await health.getByText(/The circuit has been open since/).waitFor({ timeout: seenMs });
      await health
        .getByText(/^5xx: \d+$/)
        .first()
        .waitFor({ timeout: seenMs });
      expect(await violations(page)).toEqual([]);
      await keepPicture(page, 'webhook-circuit-open');

      receiver.respondWith(200);
      await call('POST', '/v1/resources', { name: 'another' });
      // The circuit closes automatically once an attempt succeeds.
      await health.getByText(/^The circuit is closed/).waitFor({ timeout: seenMs });
      expect(await health.getByText(/No delivery has succeeded since/).count()).toBe(0);
    },
    4 * seenMs,
  );

  test('a resource page shows events and payloads without any webhook, paginated, even after deletion', async () => {
    const call = await world.apiCaller(Environment.SANDBOX);
    const { id } = await call('POST', '/v1/resources', { name: 'first' });
    for (let i = 1; i <= 20; i += 1) await call('PATCH', `/v1/resources/${id}`, { name: `name ${i}` });
    await call('DELETE', `/v1/resources/${id}`);
    await goTo(`/resources/${id}`, 'sandbox');
    const events = page.getByRole('table', { name: 'Events of this resource' });
    const deleted = events.getByRole('row').filter({ hasText: 'resource.deleted' });
    await deleted.getByText('no matching webhooks').waitFor();
    await deleted.locator('summary').click();
    await deleted
      .getByRole('group', { name: /^Payload of/ })
      .getByText('"resource.deleted"')
      .waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await events.getByText('resource.created', { exact: true }).waitFor();
    expect(page.url()).toMatch(/cursor=/);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'resource-events');
  });
});
