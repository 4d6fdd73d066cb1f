import { setTimeout as delay } from 'node:timers/promises';
import { perSuite } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, Page, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

/** Settings for the services that this suite runs against: low limits, and webhook URLs as restricted as by default. */
export const guardedSettings = {
  RATE_LIMIT_REQUESTS: '20',
  RATE_LIMIT_WINDOW_SECONDS: '20',
  MONTHLY_QUOTA: '120',
  WEBHOOK_ALLOW_HTTP: 'false',
  WEBHOOK_ALLOW_CIDRS: '',
};

export function guardsSuite(target: () => Target): void {
  describe('Guards', () => {
    describe('Rate limit and quota', () => {
      const account = perSuite(() => newAccount(target()));

      test('past the rate limit a key gets 429 with Retry-After, and a request after that delay succeeds', async () => {
        const client = account.clientWith('live', (await account.newKey('live', 'read')).key);
        const responses = await Promise.all(Array.from({ length: 30 }, () => client.get<ErrorBody>('/v1/resources')));
        const refused = responses.filter(({ status }) => status === 429);
        expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
        expect(refused.length).toBeGreaterThanOrEqual(5);
        for (const { body, headers } of refused) {
          expect(body.error).toEqual({ code: 'rate_limit_exceeded', message: expect.any(String), status: 429 });
          expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
        }
        const last = await client.get('/v1/resources');
        // The delay is under test, so the test waits exactly as long as the response requires.
        if (last.status === 429) await delay(Number(last.headers['retry-after']) * 1_000);
        expect((await client.get('/v1/resources')).status).toBe(200);
      });

      test('the rate limit applies per key: another key of the workspace is accepted', async () => {
        const client = account.clientWith('live', (await account.newKey('live', 'read')).key);
        const responses = await Promise.all(Array.from({ length: 25 }, () => client.get('/v1/resources')));
        expect(responses.some(({ status }) => status === 429)).toBe(true);
        const { key } = await account.newKey('live', 'read');
        expect((await client.get('/v1/resources', { key })).status).toBe(200);
      });

      test('past the monthly quota of a workspace and environment, every key gets 429 quota_exceeded', async () => {
        const mine = await newAccount(target());
        let refused: ErrorBody | undefined;
        let retryAfter = '';
        let allowed = 0;
        for (let i = 0; i < 8 && !refused; i++) {
          const client = mine.clientWith('live', (await mine.newKey('live', 'read')).key);
          const responses = await Promise.all(Array.from({ length: 20 }, () => client.get<ErrorBody>('/v1/resources')));
          allowed += responses.filter(({ status }) => status === 200).length;
          const over = responses.find(({ body }) => body.error?.code === 'quota_exceeded');
          refused = over?.body;
          retryAfter = over?.headers['retry-after'] ?? '';
        }
        expect(refused?.error.status).toBe(429);
        expect(Number(retryAfter)).toBeGreaterThan(0);
        expect(allowed).toBe(120);
        const sandbox = await mine.client('test', 'read');
        expect((await sandbox.get('/v1/resources')).status).toBe(200);
      });
    });

    describe('Webhook URLs', () => {
      const account = perSuite(() => newAccount(target()));

      const expectRefused = async (urls: string[]) => {
        let client: ApiClient | undefined;
        for (const [i, url] of urls.entries()) {
          if (i % 15 === 0) client = account.clientWith('live', (await account.newKey('live', 'admin')).key);
          const response = await client?.post<ErrorBody>('/v1/webhooks', { url, events: ['*'] });
          expect([url, response?.status, response?.body.error.code]).toEqual([url, 400, 'invalid_request']);
          expect(response?.body.error.details?.[0]?.field).toBe('url');
        }
        expect((await client?.get<Page<Webhook>>('/v1/webhooks'))?.body.meta.total).toBe(0);
      };

      test('a webhook URL must use HTTPS', async () => {
        await expectRefused(['http://example.com/', 'ftp://example.com/', 'ws://example.com/', 'file:///etc/passwd']);
      });

      test('a webhook URL must not be localhost', async () => {
        await expectRefused([
          'https://localhost/',
          'https://LOCALHOST:8443/',
          'https://localhost./',
          'https://api.localhost/',
          'https://printer.local/',
          'https://metadata.internal/',
          'https://kubernetes.default.svc/',
        ]);
      });

      test('a webhook URL must not be a private IP, in any notation', async () => {
        await expectRefused([
          'https://127.0.0.1/',
          'https://127.1/',
          'https://2130706433/',
          'https://0x7f000001/',
          'https://0177.0.0.1/',
          'https://0.0.0.0/',
          'https://10.0.0.1/',
          'https://172.16.0.1/',
          'https://192.168.1.1/',
          'https://169.254.169.254/latest/meta-data/',
          'https://100.64.0.1/',
          'https://224.0.0.1/',
          'https://255.255.255.255/',
          'https://[::1]/',
          'https://[::]/',
          'https://[fe80::1]/',
          'https://[fc00::1]/',
          'https://[::ffff:127.0.0.1]/',
          'https://[::ffff:7f00:1]/',
          'https://[::127.0.0.1]/',
          'https://[64:ff9b::7f00:1]/',
          'https://[2002:7f00:1::]/',
          'https://168.63.129.16/',
          'https://①②⑦.⓪.⓪.①/',
        ]);
      });

      test('a webhook URL must not use a port of another service', async () => {
        await expectRefused([22, 25, 444, 6379, 10250].map((port) => `https://example.com:${port}/`));
      });

      test('a public HTTPS URL is accepted', async () => {
        const client = account.clientWith('test', (await account.newKey('test', 'admin')).key);
        for (const url of ['https://example.com/hook', 'https://example.com:8443/', 'https://1.1.1.1/hook']) {
          expectStatus(await client.post('/v1/webhooks', { url, events: ['*'] }), 201);
        }
      });
    });
  });
}
