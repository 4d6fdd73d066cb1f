import { perSuite } from '@rms/testkit';
import fc from 'fast-check';
import { expectStatus, type RequestOptions } from '../support/api-client.ts';
import type { One, Page, Resource, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

interface WrongRequest {
  readonly method: string;
  readonly path: string;
  readonly options: RequestOptions;
}

const junk = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.string(), { maxLength: 3 }),
  fc.constant({ nested: { deep: 1 } }),
  fc.double(),
);
const tooLong = fc.string({ minLength: 256, maxLength: 600, unit: 'grapheme-ascii' });
const text = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }).filter((t) => !/[\0]/.test(t));
const asciiKey = fc.string({ maxLength: 20, unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz') });

const wrongName = fc.oneof(junk, fc.constant(''), tooLong, fc.constant('a\u0000b'), fc.constant('\ud800'));
const wrongMetadata = fc.oneof(
  junk.filter((value) => !(value !== null && typeof value === 'object' && Object.keys(value).length === 0)),
  fc.dictionary(
    asciiKey.map((key) => `k${key}`),
    junk,
    { minKeys: 1, maxKeys: 4 },
  ),
  tooLong.map((value) => ({ k: `${value}${value}` })),
  tooLong.map((key) => ({ [key]: 'v' })),
  fc.constant(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, 'v']))),
);
const unknownField = asciiKey.map((key) => `x_${key}`);
const wrongResource = fc.oneof(
  fc.record({ name: wrongName }),
  fc.record({ name: text, metadata: wrongMetadata }),
  fc.record({ name: text, type: fc.oneof(junk, asciiKey) }),
  fc.tuple(unknownField, text).map(([field, name]) => ({ name, [field]: 1 })),
);
const wrongPatch = fc.oneof(
  fc.record({ name: wrongName }),
  fc.record({ metadata: wrongMetadata, status: fc.constant('archived') }),
  fc.record({ name: text, status: fc.oneof(junk, asciiKey) }),
  unknownField.map((field) => ({ status: 'archived', [field]: 1 })),
);
const wrongWebhook = fc.oneof(
  fc.record({
    url: fc.oneof(
      junk,
      text.map((t) => `ftp://${t}`),
      asciiKey,
    ),
    events: fc.constant(['*']),
  }),
  fc.record({ url: fc.constant('https://example.com/'), events: fc.oneof(junk, fc.constant([]), fc.array(asciiKey)) }),
  fc.record({ url: fc.constant('https://10.0.0.1/'), events: fc.constant(['*', 'resource.created']) }),
);
const wrongQuery = fc.oneof(
  fc
    .oneof(fc.integer({ min: 101 }), fc.integer({ max: 0 }), fc.constantFrom('1e1', '10abc', '', ' 5', '0x10', '5.0'))
    .map((value) => `per_page=${encodeURIComponent(value)}`),
  asciiKey.map((value) => `status=x${value}`),
  asciiKey.map((value) => `sort=-x${value}`),
  fc.base64String({ minLength: 1, maxLength: 80 }).map((value) => `cursor=${encodeURIComponent(value)}`),
  asciiKey.map((name) => `x${name}=1`),
);
const wrongAfter = fc.oneof(
  fc.integer({ max: -1 }).map(String),
  fc.bigInt({ min: 1_000_000n }).map(String),
  fc.double({ noInteger: true }).map(String),
  asciiKey,
  fc.constantFrom('+1', '01', ' 1', '0x10', '1e3', '-0'),
);
const brokenJson = fc.string({ maxLength: 60 }).filter((raw) => {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value !== 'object' || value === null || Array.isArray(value);
  } catch {
    return true;
  }
});

/** Generates requests that the API forbids, each for at least one reason. */
function wrongRequests(resourceId: string, webhookId: string): fc.Arbitrary<WrongRequest> {
  const resource = `/v1/resources/${resourceId}`;
  const webhook = `/v1/webhooks/${webhookId}`;
  const requestOf = (method: string, path: string) => (json: unknown) => ({ method, path, options: { json } });
  return fc.oneof(
    wrongResource.map(requestOf('POST', '/v1/resources')),
    wrongPatch.map(requestOf('PATCH', resource)),
    wrongWebhook.map(requestOf('POST', '/v1/webhooks')),
    fc.record({ status: fc.oneof(junk, asciiKey) }).map(requestOf('PATCH', webhook)),
    fc
      .tuple(fc.constantFrom('/v1/resources', '/v1/events'), wrongQuery)
      .map(([path, query]) => ({ method: 'GET', path: `${path}?${query}`, options: {} })),
    wrongAfter.map((after) => ({ method: 'GET', path: `/v1/events?after=${encodeURIComponent(after)}`, options: {} })),
    fc
      .tuple(fc.constantFrom('/v1/resources', '/v1/webhooks'), brokenJson)
      .map(([path, raw]) => ({ method: 'POST', path, options: { raw } })),
    fc
      .tuple(
        fc.constantFrom('PUT', 'TRACE', 'OPTIONS', 'PROPFIND'),
        fc.constantFrom('/v1/resources', '/v1/events', resource, webhook),
      )
      .map(([method, path]) => ({ method, path, options: {} })),
    fc
      .tuple(fc.constantFrom('GET', 'DELETE'), fc.webPath({ size: 'small' }))
      .map(([method, path]) => ({ method, path: `/v1/resources/none${path}`, options: {} })),
    fc.constantFrom('é', 'x'.repeat(256), 'tab\there').map((key) => ({
      method: 'POST',
      path: '/v1/resources',
      options: { json: { name: 'x' }, headers: { 'idempotency-key': Buffer.from(key, 'utf8').toString('latin1') } },
    })),
  );
}

export function wrongRequestsSuite(target: () => Target): void {
  describe('Invalid requests', () => {
    let resource: Resource;
    let webhook: Webhook;
    const client = perSuite(async () => (await newAccount(target())).client('live', 'admin'));
    beforeAll(async () => {
      const created = await client.post<One<Resource>>('/v1/resources', { name: 'Stays', metadata: { a: '1' } });
      resource = expectStatus(created, 201).body.data;
      // No test deletes a resource: an attempt would change the webhook's health.
      const subscription = { url: 'https://example.com/hook', events: ['resource.deleted'] };
      webhook = expectStatus(await client.post<One<Webhook>>('/v1/webhooks', subscription), 201).body.data;
    });

    const state = async () => ({
      resources: (await client.get<Page<Resource>>('/v1/resources')).body,
      webhooks: (await client.get<Page<Webhook>>('/v1/webhooks')).body,
    });

    test('hundreds of generated invalid requests get a 4xx with X-Request-ID and change nothing', async () => {
      const before = await state();
      expect(before.resources.data).toEqual([resource]);
      await fc.assert(
        fc.asyncProperty(wrongRequests(resource.id, webhook.id), async ({ method, path, options }) => {
          // The client checks every response against the OpenAPI document, including X-Request-ID.
          const { status, text: body } = await client.send(method, path, options);
          if (status < 400 || status > 499) throw new Error(`${status}: ${body}`);
        }),
        { numRuns: 600, endOnFailure: false },
      );
      expect(await state()).toEqual(before);
    });

    test('invalid requests do not disturb valid ones sent concurrently', async () => {
      const samples = fc.sample(wrongRequests(resource.id, webhook.id), 60);
      const [wrong, right] = await Promise.all([
        Promise.all(
          samples.map(async ({ method, path, options }) => (await client.send(method, path, options)).status),
        ),
        Promise.all(
          samples.map(async (_, i) => {
            const response = await client.post<One<Resource>>('/v1/resources', { name: `right ${i}` });
            return expectStatus(response, 201).body.data.name === `right ${i}`;
          }),
        ),
      ]);
      expect(wrong.filter((status) => status < 400 || status > 499)).toEqual([]);
      expect(right.every(Boolean)).toBe(true);
      expect((await state()).resources.meta.total).toBe(61);
    });
  });
}
