import { randomUUID } from 'node:crypto';
import { endpoints } from '@rms/api/endpoints';
import { inputFields } from '@rms/api/input-fields';
import { perSuite } from '@rms/testkit';
import fc from 'fast-check';
import { expectStatus } from '../support/api-client.ts';
import type { One } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

type Document = Record<string, unknown>;

/** Fields that change as time passes, or with every change. */
const volatile = ['updated_at', 'health', 'last_used_at', 'last_used_ip', 'clients', 'last_refusal'];

const text = (most: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: most });
const future = fc.date({ min: new Date('2030-01-01'), max: new Date('2099-01-01'), noInvalidDate: true });
const delay = fc.integer({ min: 1, max: 604_800_00 }).map((hundredths) => hundredths / 100);
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });

/** Changes of each object that PATCH or PUT changes, by endpoint path. */
const changes: Readonly<Record<string, fc.Arbitrary<object>>> = {
  '/v1/resources/{id}': some({
    name: text(100),
    status: fc.constantFrom('active', 'inactive', 'archived'),
    metadata: fc.dictionary(
      text(10),
      fc.string({ maxLength: 100 }).map((value) => value.replaceAll('\0', '')),
      {
        maxKeys: 5,
      },
    ),
  }),
  '/v1/api_keys/{id}': some({
    name: text(50),
    allowed_ips: fc.uniqueArray(fc.ipV4(), { maxLength: 3 }),
    rate_limit: fc.option(fc.integer({ min: 1, max: 1_000 })),
    expires_at: fc.option(future.map((date) => date.toISOString())),
  }),
  '/v1/webhooks/{id}': some({
    url: fc.webPath({ size: 'small' }).map((path) => `https://example.com${path}`),
    events: fc.constantFrom(['*'], ['resource.created'], ['resource.deleted', 'resource.updated']),
    status: fc.constantFrom('active', 'disabled'),
    description: fc.string({ unit: 'grapheme', maxLength: 50 }).map((value) => value.replaceAll('\0', '')),
    ordered: fc.boolean(),
    retry_policy: fc.oneof(
      fc.record({ delays: fc.array(delay, { minLength: 1, maxLength: 5 }) }),
      fc
        .record({ max_retries: fc.integer({ min: 0, max: 50 }), initial_delay: fc.constant(0.5), max_delay: delay })
        .map((policy) => ({ ...policy, max_delay: Math.max(1, policy.max_delay) })),
    ),
    rate_limit: some({
      requests_per_second: fc.option(fc.integer({ min: 1, max: 10_000 })),
      max_concurrency: fc.integer({ min: 1, max: 1_000 }),
    }),
  }),
  '/v1/alert_channels/{id}': some({ name: text(50) }),
  '/v1/members/{id}': fc.record({ role: fc.constantFrom('viewer', 'developer', 'admin') }),
  '/v1/alert_rules/{kind}': some({ enabled: fc.boolean(), to_owners: fc.boolean() }),
};

/** What GET returns can be sent back: a script can read an object, change one field and write all of them. */
export function roundTripsSuite(target: () => Target): void {
  describe('What GET returns, sent back', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    /** Returns the URLs of the objects that the test changes: at least one per kind and form. */
    const objects = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      const make = async (path: string, body: object) => {
        const { id } = expectStatus(await client.post<One<{ id: string }>>(path, body), 201).body.data;
        return `${path}/${id}`;
      };
      const channels = [
        { type: 'email', name: 'e', addresses: ['ops@example.com'] },
        { type: 'pagerduty', name: 'p', routing_key: 'k'.repeat(32) },
        { type: 'slack', name: 's', url: 'https://example.com/slack' },
        { type: 'webhook', name: 'w', url: 'https://example.com/alerts' },
      ];
      const rules = (await client.get<{ data: { kind: string }[] }>('/v1/alert_rules')).body.data;
      const email = `${randomUUID()}@example.com`;
      const { id: member } = await account.rms<{ id: string }>('users', 'create', '--email', email, '--role', 'viewer');
      return {
        '/v1/members/{id}': [`/v1/members/${member}`],
        '/v1/resources/{id}': [await make('/v1/resources', { name: 'r' })],
        '/v1/api_keys/{id}': [
          await make('/v1/api_keys', { name: 'k', scope: 'restricted', permissions: ['keys:read'] }),
        ],
        '/v1/webhooks/{id}': [await make('/v1/webhooks', { url: 'https://example.com/', events: ['*'] })],
        '/v1/alert_channels/{id}': await Promise.all(channels.map((body) => make('/v1/alert_channels', body))),
        '/v1/alert_rules/{kind}': rules.map(({ kind }) => `/v1/alert_rules/${kind}`),
      };
    };

    /** Sends back the fields of the object that the endpoint changes. */
    const sendBack = async (endpoint: (typeof changing)[number], url: string) => {
      const read = async () => {
        const { data } = expectStatus(await client.get<One<Document>>(url), 200).body;
        return Object.fromEntries(Object.entries(data).filter(([name]) => !volatile.includes(name)));
      };
      const before = await read();
      const names = inputFields(endpoint, 'body').map(({ name }) => name);
      const body = Object.fromEntries(names.filter((name) => name in before).map((name) => [name, before[name]]));
      const { status, body: response } = await client.send<object>(endpoint.method.toUpperCase(), url, { json: body });
      expect([url, body, status, status === 200 ? undefined : response]).toEqual([url, body, 200, undefined]);
      expect(await read()).toEqual(before);
    };

    const changing = endpoints.filter(
      ({ method, path }) =>
        (method === 'patch' || method === 'put') &&
        endpoints.some((other) => other.method === 'get' && other.path === path),
    );

    test('every object that can be changed accepts the fields that GET returns, and stays the same', async () => {
      expect(changing.map(({ path }) => path).sort()).toEqual(Object.keys(changes).sort());
      const urls = await objects();
      for (const endpoint of changing) {
        for (const url of urls[endpoint.path] ?? []) {
          await fc.assert(
            fc.asyncProperty(changes[endpoint.path] ?? fc.constant({}), async (change) => {
              const method = endpoint.method.toUpperCase();
              expectStatus(await client.send<object>(method, url, { json: change }), 200);
              await sendBack(endpoint, url);
            }),
            { numRuns: 10 },
          );
        }
      }
    });

    test('a revoked key accepts the fields that GET returns', async () => {
      const { id } = expectStatus(
        await client.post<One<{ id: string }>>('/v1/api_keys', {
          name: 'ended',
          scope: 'read',
          expires_at: '2099-01-01T00:00:00.000Z',
        }),
        201,
      ).body.data;
      expectStatus(await client.delete(`/v1/api_keys/${id}`), 204);
      const endpoint = changing.find(({ path }) => path === '/v1/api_keys/{id}');
      if (endpoint) await sendBack(endpoint, `/v1/api_keys/${id}`);
      const later = await client.patch(`/v1/api_keys/${id}`, { expires_at: '2099-01-02T00:00:00Z' });
      expect([endpoint?.method, later.status]).toEqual(['patch', 409]);
    });
  });
}
