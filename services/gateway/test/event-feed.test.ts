import { newId } from '@rms/base/ids';
import { perTest } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('GET /v1/events', () => {
  const api = perTest(startGateway);
  const key = perTest(() => api.auth.newKey('read'));

  const get = (query = '') => api.send('GET', `/v1/events${query}`, { key });
  const fill = (count: number) => Array.from({ length: count }, (_, i) => api.events.add(`event ${i + 1}`));
  /** Returns those parts in a page that a reader uses: sequences, page number, and the `after` values of the links. */
  const pageOf = async (query: string) => {
    const { data, meta, links } = (await get(query)).body;
    const afterOf = (url: string | null) => (url === null ? null : Number(new URL(url).searchParams.get('after')));
    return {
      sequences: data.map(({ sequence }: { sequence: number }) => sequence),
      page: meta.page,
      next: afterOf(links.next),
      prev: afterOf(links.prev),
    };
  };

  test("requests the feed of the caller's tenant with the request ID", async () => {
    const { value, workspaceId } = api.auth.newKey('read');
    await api.send('GET', '/v1/events?after=0&per_page=7', { key: value, headers: { 'X-Request-ID': 'my-feed-1' } });
    expect(api.events.requests).toMatchObject([{ workspaceId, environment: 1, after: 0n, pageSize: 7, type: '' }]);
    expect(api.events.requestIds).toEqual(['my-feed-1']);
  });

  test('an erased event keeps its position', async () => {
    const events = fill(3);
    for (const event of [events[0], events[2]]) Object.assign(event ?? {}, { body: Buffer.alloc(0) });
    const { data } = (await get()).body;
    const erased = (i: number) => ({ id: events[i]?.id, type: 'resource.created', data: null, sequence: i + 1 });
    expect(data).toEqual([erased(0), { ...JSON.parse(`${events[1]?.body}`), sequence: 2 }, erased(2)]);
  });

  test('a feed without events is an empty page', async () => {
    const meta = { total: 0, page: 1, per_page: 20, oldest_sequence: 0, newest_sequence: 0 };
    for (const query of ['', '?', '?after=0']) {
      expect((await get(query)).body).toEqual({ data: [], meta, links: { next: null, prev: null } });
    }
  });

  test('links lead through all pages and back', async () => {
    fill(7);
    const page = (sequences: number[], number: number, next: number | null, prev: number | null) => ({
      sequences,
      page: number,
      next,
      prev,
    });
    expect(await pageOf('?per_page=3')).toEqual(page([1, 2, 3], 1, 3, null));
    expect(await pageOf('?per_page=3&after=3')).toEqual(page([4, 5, 6], 2, 6, 0));
    expect(await pageOf('?per_page=3&after=6')).toEqual(page([7], 3, null, 3));
    expect(await pageOf('?per_page=3&after=7')).toEqual(page([], 4, null, 4));
    expect(await pageOf('?per_page=7')).toEqual(page([1, 2, 3, 4, 5, 6, 7], 1, null, null));
    expect(await pageOf('?per_page=3&after=2')).toEqual(page([3, 4, 5], 2, 5, 0));
    const { links, meta } = (await get('?per_page=3&after=3')).body;
    expect(links.next).toBe(`${api.gateway.addresses.live}/v1/events?after=6&per_page=3`);
    expect(meta).toEqual({ total: 7, page: 2, per_page: 3, oldest_sequence: 1, newest_sequence: 7 });
  });

  test('expired events are skipped, and the sequences show the gap', async () => {
    fill(7);
    api.events.dropped = 4;
    for (const query of ['', '&after=2', '&after=4']) {
      expect(await pageOf(`?per_page=2${query}`)).toEqual({ sequences: [5, 6], page: 1, next: 6, prev: null });
    }
    expect(await pageOf('?per_page=2&after=6')).toEqual({ sequences: [7], page: 2, next: null, prev: 4 });
    expect((await get('?after=1')).body.meta).toMatchObject({ total: 3, oldest_sequence: 5, newest_sequence: 7 });
    api.events.dropped = 7;
    const meta = { total: 0, page: 1, per_page: 20, oldest_sequence: 0, newest_sequence: 7 };
    for (const query of ['', '?after=3', '?after=7']) {
      expect((await get(query)).body).toEqual({ data: [], meta, links: { next: null, prev: null } });
    }
  });

  test.each(['', '-1', '+1', '007', '1.5', '1e1', '0x10', ' 5', 'x', '9007199254740992', '9'.repeat(400)])(
    'after must be a whole number (%j)',
    async (value) => {
      const { status, body } = await get(`?after=${encodeURIComponent(value)}`);
      const details = [{ field: 'after', message: 'must be a whole number from 0 to 9007199254740991' }];
      expect([status, body.error.code, body.error.details]).toEqual([400, 'invalid_request', details]);
      expect(api.events.requests).toEqual([]);
    },
  );

  test('a malformed event body causes a 500 and not a partial response', async () => {
    fill(1);
    Object.assign(api.events.stored[0] ?? {}, { body: Buffer.from('broken') });
    const { status, body } = await get();
    expect([status, body.error.code]).toEqual([500, 'internal_error']);
  });

  test('one event has the bytes of the feed; an unknown or malformed ID is not found', async () => {
    const [event] = fill(1);
    const { data } = (await get()).body;
    const path = `/v1/events/${event?.id}`;
    const { status, body, text, headers } = await api.send('GET', path, { key });
    expect([status, body]).toEqual([200, { data: data[0] }]);
    expect(text).toBe(`{"data":${`${event?.body}`.replace(/}$/, ',"sequence":1}')}}`);
    expect((await api.send('GET', path, { key, headers: { 'If-None-Match': headers.etag ?? '' } })).status).toBe(304);
    Object.assign(event ?? {}, { body: Buffer.alloc(0) });
    const erased = { id: event?.id, type: 'resource.created', data: null, sequence: 1 };
    expect((await api.send('GET', path, { key })).body.data).toEqual(erased);
    for (const id of [newId('evt'), newId('wh'), 'x', '%00']) {
      expect((await api.send('GET', `/v1/events/${id}`, { key })).status).toBe(404);
    }
  });
});
