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
const seconds = (least: number, most: number) =>
  fc.integer({ min: least * 100, max: most * 100 }).map((hundredths) => hundredths / 100);
const storable = (most: number) =>
  fc.string({ unit: 'grapheme', maxLength: most }).map((value) => value.replaceAll('\0', ''));
const headerName = fc.stringMatching(/^X-[A-Z][a-z]{1,8}(?:-[A-Z][a-z]{1,8})?$/);
const headerValue = fc.stringMatching(/^(?:[!-~](?:[ -~]{0,20}[!-~])?)$/);
/** Few, because each of them is asked once to confirm. */
const addresses = ['ops@example.com', 'on-call@example.com', 'nightly@example.com'];
const exampleUrl = fc.webPath({ size: 'small' }).map((path) => `https://example.com${path}`);
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });

/** A filter of up to 3 levels. */
const { filter } = fc.letrec((tie) => ({
  condition: fc
    .tuple(
      fc.constantFrom('name', 'status', 'input_type', 'metadata.team', 'previous_attributes.status'),
      fc.oneof(
        fc.record({ op: fc.constantFrom('eq', 'ne', 'prefix'), value: text(20).map((value) => value.toWellFormed()) }),
        fc.record({
          op: fc.constantFrom('in', 'not_in'),
          value: fc.array(fc.stringMatching(/^[ -~]{0,20}$/), { minLength: 1, maxLength: 5 }),
        }),
        fc.record({ op: fc.constantFrom('exists', 'not_exists') }),
      ),
    )
    .map(([field, condition]) => ({ field, ...condition })),
  inner: fc.oneof(tie('condition'), group(tie('condition'))),
  filter: group(fc.oneof(tie('condition'), tie('inner'))),
}));

function group(elements: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const list = fc.array(elements, { minLength: 1, maxLength: 3 });
  return fc.oneof(fc.record({ all: list }), fc.record({ any: list }));
}

/** Changes of a webhook. A secret header needs a value in the first request that names it. */
const webhookChanges = fc
  .tuple(
    some({
      url: exampleUrl,
      events: fc.constantFrom(['*'], ['resource.created'], ['resource.deleted', 'webhook.disabled', 'quota.warning']),
      status: fc.constantFrom('active', 'paused', 'disabled'),
      description: storable(50),
      ordered: fc.boolean(),
      timeout: seconds(1, 30),
      signature_alias: fc.option(headerName),
      filter: fc.option(filter),
      retry_policy: fc.oneof(
        fc.record({ delays: fc.array(delay, { minLength: 1, maxLength: 50 }) }),
        fc
          .record({ max_retries: fc.integer({ min: 0, max: 50 }), initial_delay: fc.constant(0.5), max_delay: delay })
          .map((policy) => ({ ...policy, max_delay: Math.max(1, policy.max_delay) })),
      ),
      rate_limit: some({
        requests_per_second: fc.option(fc.double({ min: 0.01, max: 10_000, noNaN: true })),
        max_concurrency: fc.integer({ min: 1, max: 1_000 }),
      }),
    }),
    fc.option(
      fc.uniqueArray(fc.tuple(headerName, headerValue, fc.boolean()), {
        maxLength: 5,
        selector: ([name]) => name.toLowerCase(),
      }),
    ),
  )
  .map(([change, headers]) => {
    if (headers === null) return change;
    const secret = headers.filter(([, , isSecret]) => isSecret).map(([name]) => name);
    const { signature_alias: alias, ...others } = change;
    const names = headers.map(([name]) => name.toLowerCase());
    return {
      ...others,
      ...(typeof alias === 'string' && names.includes(alias.toLowerCase()) ? {} : change),
      headers: Object.fromEntries(headers.map(([name, value]) => [name, value])),
      secret_headers: secret,
    };
  });

const shares = fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100);
const thresholds: Readonly<Record<string, fc.Arbitrary<number>>> = {
  api_error_rate: shares,
  delivery_failure_rate: shares,
  delivery_failures_in_a_row: fc.integer({ min: 1, max: 10_000 }),
  quota: shares,
  rate_limited: fc.integer({ min: 1, max: 1_000_000 }),
  key_expiry: fc.integer({ min: 1, max: 90 }),
};

/** Changes of an alert rule. A field that is null is not supported by the kind. */
function ruleChanges({ kind, window, minimum }: Document, channels: readonly string[]): fc.Arbitrary<object> {
  const threshold = thresholds[kind as string];
  return some({
    enabled: fc.boolean(),
    to_owners: fc.boolean(),
    recipients: fc.subarray(addresses),
    channels: fc.subarray([...channels]),
    ...(threshold ? { threshold } : {}),
    ...(window === null ? {} : { window: fc.integer({ min: 1, max: 1_440 }).map((minutes) => minutes * 60) }),
    ...(minimum === null ? {} : { minimum: fc.integer({ min: 1, max: 1_000_000 }) }),
  });
}

/** The fields that only channels of a type have. */
const channelFields: Readonly<Record<string, Record<string, fc.Arbitrary<unknown>>>> = {
  email: { addresses: fc.subarray(addresses, { minLength: 1 }) },
  pagerduty: { routing_key: fc.stringMatching(/^[0-9a-z]{32}$/) },
  slack: { url: exampleUrl },
  webhook: { url: exampleUrl },
};

type Changes = fc.Arbitrary<object> | ((document: Document, channels: readonly string[]) => fc.Arbitrary<object>);

/** Changes of each object that PATCH or PUT changes, by endpoint path. */
const changes: Readonly<Record<string, Changes>> = {
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
    allowed_ips: fc.uniqueArray(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 3 }),
    rate_limit: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
    expires_at: fc.option(future.map((date) => date.toISOString())),
  }),
  '/v1/webhooks/{id}': webhookChanges,
  '/v1/alert_channels/{id}': ({ type }) => some({ name: text(50), ...channelFields[type as string] }),
  '/v1/members/{id}': fc.record({ role: fc.constantFrom('viewer', 'developer', 'admin') }),
  '/v1/alert_rules/{kind}': ruleChanges,
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
      const channels = (urls['/v1/alert_channels/{id}'] ?? []).map((url) => url.split('/').at(-1) ?? '');
      for (const endpoint of changing) {
        const given = changes[endpoint.path] ?? fc.constant({});
        for (const url of urls[endpoint.path] ?? []) {
          const document = expectStatus(await client.get<One<Document>>(url), 200).body.data;
          await fc.assert(
            fc.asyncProperty(typeof given === 'function' ? given(document, channels) : given, async (change) => {
              const method = endpoint.method.toUpperCase();
              expectStatus(await client.send<object>(method, url, { json: change }), 200);
              await sendBack(endpoint, url);
            }),
            { numRuns: 20 },
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
