import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

const emoji = '🎈'; // one code point, two UTF-16 units, four bytes

export function limitsSuite(target: () => Target): void {
  describe('Limits of fields', () => {
    const client = perSuite(async () => (await newAccount(target())).client('live', 'admin'));

    const total = async () => (await client.get<Page<Resource>>('/v1/resources?per_page=1')).body.meta.total;

    /**
     * Sends a body to POST and PATCH. Expects both to be rejected with a detail on this field, and nothing to change.
     */
    const expectRefused = async (field: string, body: object) => {
      const created = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'valid' }), 201).body.data;
      const before = await total();
      const path = `/v1/resources/${created.id}`;
      for (const response of [
        await client.post<ErrorBody>('/v1/resources', { name: 'valid', ...body }),
        await client.patch<ErrorBody>(path, body),
      ]) {
        expect([response.status, response.body.error.code]).toEqual([400, 'invalid_request']);
        expect(response.body.error.details?.some((detail) => detail.field.startsWith(field))).toBe(true);
      }
      expect(await total()).toBe(before);
      expect((await client.get<One<Resource>>(path)).body.data).toEqual(created);
    };

    /** Sends a body to POST and PATCH. Expects both to be accepted and returned as sent. */
    const expectTaken = async (body: Partial<Resource>) => {
      const created = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'v', ...body }), 201);
      expect(created.body.data).toMatchObject(body);
      const other = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'w' }), 201).body.data;
      const patched = expectStatus(await client.patch<One<Resource>>(`/v1/resources/${other.id}`, body), 200);
      expect(patched.body.data).toMatchObject(body);
    };

    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, `${i}`]));

    test('a name has at most 255 characters, counted as code points', async () => {
      await expectTaken({ name: 'n'.repeat(255) });
      await expectTaken({ name: emoji.repeat(255) });
      await expectTaken({ name: 'é'.repeat(255) });
      await expectRefused('name', { name: 'n'.repeat(256) });
      await expectRefused('name', { name: emoji.repeat(256) });
    });

    test('a name is required and not empty', async () => {
      await expectTaken({ name: ' ' });
      await expectRefused('name', { name: '' });
      const response = await client.post<ErrorBody>('/v1/resources', {});
      expect([response.status, response.body.error.code]).toEqual([400, 'invalid_request']);
      expect(response.body.error.details?.map(({ field }) => field)).toEqual(['name']);
    });

    test('a resource has at most 50 metadata pairs', async () => {
      await expectTaken({ metadata: pairs(50) });
      await expectRefused('metadata', { metadata: pairs(51) });
    });

    test('a metadata key has at most 40 characters', async () => {
      await expectTaken({ metadata: { ['k'.repeat(40)]: 'v', [emoji.repeat(40)]: 'v' } });
      await expectRefused('metadata', { metadata: { ['k'.repeat(41)]: 'v' } });
      await expectRefused('metadata', { metadata: { [emoji.repeat(41)]: 'v' } });
      await expectRefused('metadata', { metadata: { '': 'v' } });
    });

    test('a metadata value has at most 500 characters', async () => {
      await expectTaken({ metadata: { k: 'v'.repeat(500), e: emoji.repeat(500), empty: '' } });
      await expectRefused('metadata', { metadata: { k: 'v'.repeat(501) } });
      await expectRefused('metadata', { metadata: { k: emoji.repeat(501) } });
    });

    test('a resource at every limit is accepted and returned complete', async () => {
      const key = (i: number) => `${String(i).padStart(2, '0')}${emoji.repeat(38)}`;
      await expectTaken({
        name: emoji.repeat(255),
        metadata: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [key(i), emoji.repeat(500)])),
      });
    });

    test('metadata keys and values are strings', async () => {
      for (const value of [1, true, null, [], {}, ['v']]) await expectRefused('metadata', { metadata: { k: value } });
      for (const metadata of ['text', 1, [], ['a'], null]) await expectRefused('metadata', { metadata });
    });

    test('metadata keys with a meaning in JavaScript are plain data', async () => {
      const raw = '{"name":"proto","metadata":{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}}';
      const created = expectStatus(await client.send<One<Resource>>('POST', '/v1/resources', { raw }), 201);
      const read = await client.get<One<Resource>>(`/v1/resources/${created.body.data.id}`);
      for (const response of [created, read]) {
        expect(Object.entries(response.body.data.metadata).sort()).toEqual([
          ['__proto__', 'a'],
          ['constructor', 'b'],
          ['hasOwnProperty', 'd'],
          ['toString', 'c'],
        ]);
      }
    });

    test('metadata does not affect the behavior of the service', async () => {
      const metadata = { status: 'archived', type: 'advanced', id: 'res_other', name: 'other' };
      const created = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Plain', metadata }), 201);
      expect(created.body.data).toMatchObject({ name: 'Plain', status: 'active', type: 'resource', metadata });
    });

    test('NUL and lone surrogates are rejected in names and metadata', async () => {
      for (const text of ['a\u0000b', 'a\ud800b', '\udc00']) {
        await expectRefused('name', { name: text });
        await expectRefused('metadata', { metadata: { k: text } });
        await expectRefused('metadata', { metadata: { [text]: 'v' } });
      }
    });

    test('control characters, quotes, backslashes and bidi marks are returned as sent', async () => {
      const text = '\u0001\t\n\r"\\/\u2028\u202e{},"NULL"\u007f';
      await expectTaken({ name: text, metadata: { [`k ${text}`]: `v ${text}` } });
    });

    test('a field that the API does not define is rejected', async () => {
      await expectRefused('color', { color: 'red' });
      await expectRefused('id', { id: 'res_mine' });
      await expectRefused('created_at', { created_at: '2020-01-01T00:00:00Z' });
      const withStatus = await client.post('/v1/resources', { name: 'x', status: 'archived' });
      expect(withStatus.status).toBe(400);
    });

    test('a wrong type or null for a field is rejected', async () => {
      for (const name of [1, true, null, [], {}]) await expectRefused('name', { name });
    });
  });
}
