import type { RateLimitDocument } from '../src/documents/webhook.ts';
import { codeOf, ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

describe('The rate limit of a webhook', () => {
  let dashboard: TestDashboard;
  let browser: Awaited<ReturnType<TestDashboard['signIn']>>;
  beforeAll(async () => {
    const echo = ({ rateLimit }: { rateLimit: unknown }) => ({ webhook: { id: 'wh_1', rateLimit }, secret: '' });
    dashboard = await startDashboard({}, { createWebhook: echo, updateWebhook: echo });
    browser = await dashboard.signIn();
  });
  afterAll(() => dashboard?.stop());

  const create = (rateLimit?: object) =>
    browser.send('POST', `/api/workspaces/${ownWorkspace}/live/webhooks`, {
      body: { url: 'https://example.com', events: ['*'], rate_limit: rateLimit },
    });
  const update = (rateLimit?: object) =>
    browser.send('PATCH', `/api/workspaces/${ownWorkspace}/live/webhooks/wh_1`, { body: { rate_limit: rateLimit } });
  /** Rate limit of the most recent call that creates or updates a webhook. */
  const sent = () => {
    const call = dashboard.recorded.findLast(({ method }) => method.endsWith('Webhook'));
    return (call?.request as { rateLimit?: object } | undefined)?.rateLimit;
  };

  test('is passed to the webhooks service, with null as 0, and returned', async () => {
    for (const [rateLimit, message] of [
      [
        { max_concurrency: 1_000, requests_per_second: 0.01 },
        { maxConcurrency: 1_000, requestsPerSecond: 0.01 },
      ],
      [
        { max_concurrency: 1, requests_per_second: null },
        { maxConcurrency: 1, requestsPerSecond: 0 },
      ],
    ] as const) {
      const created = (await (await create(rateLimit)).json()) as { webhook: { rate_limit: RateLimitDocument } };
      expect([sent(), created.webhook.rate_limit]).toEqual([message, rateLimit]);
      const updated = (await (await update(rateLimit)).json()) as { rate_limit: RateLimitDocument };
      expect([sent(), updated.rate_limit]).toEqual([message, rateLimit]);
    }
  });

  test('is not sent if it is omitted', async () => {
    for (const send of [create, update]) {
      expect((await send()).status).toBe(200);
      expect(sent()).toBeUndefined();
    }
  });

  test.each([
    { max_concurrency: 0, requests_per_second: null },
    { max_concurrency: 1_001, requests_per_second: null },
    { max_concurrency: 1.5, requests_per_second: null },
    { max_concurrency: null, requests_per_second: null },
    { max_concurrency: 32, requests_per_second: 0 },
    { max_concurrency: 32, requests_per_second: 10_001 },
  ])('%j is rejected', async (rateLimit) => {
    for (const send of [create, update]) expect(await codeOf(await send(rateLimit))).toBe('invalid_request');
  });
});
