import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import { type ErrorBody, type One, type Resource, timestampForm } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function resourcesSuite(target: () => Target): void {
  describe('Resources', () => {
    const client = perSuite(async () => (await newAccount(target())).client('live', 'admin'));

    const create = async (body: object = { name: 'A resource' }) =>
      expectStatus(await client.post<One<Resource>>('/v1/resources', body), 201).body.data;

    test('POST returns 201 with the resource, wrapped in data, with status active', async () => {
      const before = Date.now();
      const response = await client.post<One<Resource>>('/v1/resources', { name: 'First', metadata: { color: 'red' } });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        data: {
          id: expect.stringMatching(/^res_[0-9a-z]+$/),
          type: 'resource',
          status: 'active',
          name: 'First',
          metadata: { color: 'red' },
          created_at: expect.stringMatching(timestampForm),
          updated_at: expect.stringMatching(timestampForm),
        },
      });
      expect(Math.abs(Date.parse(response.body.data.created_at) - before)).toBeLessThan(60_000);
    });

    test('GET returns 200 with the created resource', async () => {
      const created = await create({ name: 'Läsbar 資源 🎈', metadata: { 'schlüssel 🔑': 'wert ✓', empty: '' } });
      const response = await client.get<One<Resource>>(`/v1/resources/${created.id}`);
      expect(response.status).toBe(200);
      expect(response.body).toEqual({ data: created });
    });

    test('the input type may be standard or advanced, and the returned type is the constant resource', async () => {
      for (const type of ['standard', 'advanced'])
        expect((await create({ name: 'Typed', type })).type).toBe('resource');
      for (const type of ['resource', 'STANDARD', '', 1, null]) {
        expect((await client.post('/v1/resources', { name: 'Typed', type })).status).toBe(400);
      }
    });

    test('metadata is an empty object if it was not sent', async () => {
      expect((await create()).metadata).toEqual({});
    });

    test('PATCH changes only the fields that are sent', async () => {
      const created = await create({ name: 'Before', metadata: { a: '1' } });
      const response = await client.patch<One<Resource>>(`/v1/resources/${created.id}`, { name: 'After' });
      expect(response.status).toBe(200);
      expect(response.body.data).toEqual({
        ...created,
        name: 'After',
        updated_at: expect.stringMatching(timestampForm),
      });
      expect(response.body.data.updated_at >= created.updated_at).toBe(true);
      expect((await client.get<One<Resource>>(`/v1/resources/${created.id}`)).body).toEqual(response.body);
    });

    test('PATCH changes any status to any other', async () => {
      const statuses = ['active', 'inactive', 'archived'] as const;
      const { id } = await create();
      for (const from of statuses) {
        for (const to of statuses) {
          await client.patch(`/v1/resources/${id}`, { status: from });
          const response = await client.patch<One<Resource>>(`/v1/resources/${id}`, { status: to });
          expect([response.status, response.body.data.status]).toEqual([200, to]);
        }
      }
      for (const status of ['deleted', 'Active', '', null, 1]) {
        expect((await client.patch(`/v1/resources/${id}`, { status })).status).toBe(400);
      }
    });

    test('a supplied metadata object replaces the existing one entirely', async () => {
      const { id } = await create({ name: 'Meta', metadata: { a: '1', b: '2' } });
      const changed = await client.patch<One<Resource>>(`/v1/resources/${id}`, { metadata: { c: '3' } });
      expect(changed.body.data.metadata).toEqual({ c: '3' });
      const emptied = await client.patch<One<Resource>>(`/v1/resources/${id}`, { metadata: {} });
      expect(emptied.body.data.metadata).toEqual({});
    });

    test('a PATCH that changes nothing returns 200 and keeps updated_at', async () => {
      const created = await create({ name: 'Same', metadata: { a: '1' } });
      for (const body of [{}, { name: 'Same' }, { status: 'active' }, { metadata: { a: '1' } }]) {
        const response = await client.patch<One<Resource>>(`/v1/resources/${created.id}`, body);
        expect([response.status, response.body]).toEqual([200, { data: created }]);
      }
    });

    test('DELETE returns 204 without a body and removes the resource permanently', async () => {
      const { id } = await create();
      const response = await client.delete(`/v1/resources/${id}`);
      expect([response.status, response.text]).toEqual([204, '']);
      for (const again of [
        await client.get<ErrorBody>(`/v1/resources/${id}`),
        await client.patch<ErrorBody>(`/v1/resources/${id}`, { name: 'x' }),
        await client.delete<ErrorBody>(`/v1/resources/${id}`),
      ]) {
        expect([again.status, again.body.error.code]).toEqual([404, 'not_found']);
      }
    });

    test('an unknown or malformed id gets 404', async () => {
      const { id } = await create();
      const unknown = [
        `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`,
        'res_',
        'x',
        `wh_${id.slice(4)}`,
        '%00',
        '..%2f',
      ];
      for (const name of unknown) {
        expect((await client.get(`/v1/resources/${name}`)).status).toBe(404);
        expect((await client.patch(`/v1/resources/${name}`, { name: 'x' })).status).toBe(404);
        expect((await client.delete(`/v1/resources/${name}`)).status).toBe(404);
      }
    });

    test('only one of many concurrent DELETEs of a resource returns 204', async () => {
      const { id } = await create();
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async () => (await client.delete(`/v1/resources/${id}`)).status),
      );
      expect(statuses.sort()).toEqual([204, ...Array<number>(9).fill(404)]);
    });

    test('concurrent PATCHes of different fields are all kept', async () => {
      const { id } = await create();
      const bodies = [{ name: 'Parallel' }, { status: 'archived' }, { metadata: { k: 'v' } }];
      await Promise.all(bodies.map(async (body) => expectStatus(await client.patch(`/v1/resources/${id}`, body), 200)));
      expect((await client.get<One<Resource>>(`/v1/resources/${id}`)).body.data).toMatchObject(
        Object.assign({}, ...bodies),
      );
    });
  });
}
