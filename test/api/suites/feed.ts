import { disposable, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, FeedEvent, FeedPage, One, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';

export function feedSuite(target: () => Target): void {
  describe('Feed', () => {
    /**
     * All events about resources, fetched before the first test; they concern ten resources. The first event of the feed is
     * that of the key.
     */
    let all: FeedEvent[];
    let resources: Resource[];
    const typesOfEach = ['created', 'updated', 'updated', 'status_changed', 'deleted'].map(
      (type) => `resource.${type}`,
    );

    const list = async (query = '', by = client) =>
      expectStatus(await by.get<FeedPage>(`/v1/events${query}`), 200).body;
    const create = async (by: ApiClient, name: string) =>
      expectStatus(await by.post<One<Resource>>('/v1/resources', { name }), 201).body.data;
    const untilNewest = (count: number, by = client) =>
      waitUntil(async () => (await list('', by)).meta.newest_sequence >= count, { what: `${count} events` });
    const upTo = (count: number, from = 1) => Array.from({ length: count - from + 1 }, (_, i) => from + i);
    const sequencesOf = (events: FeedEvent[]) => events.map(({ sequence }) => sequence);

    /** Follows the links from a page to the end; returns the pages in order. */
    const walk = async (first: FeedPage, link: 'next' | 'prev') => {
      const pages = [first];
      for (let url = first.links[link]; url !== null; url = pages.at(-1)?.links[link] ?? null) {
        pages.push(expectStatus(await client.get<FeedPage>(url), 200).body);
        if (pages.length > 100) throw new Error(`following links.${link} does not end`);
      }
      return pages;
    };

    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    beforeAll(async () => {
      await untilNewest(1);
      resources = await Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          const created = await create(client, `Followed ${i}`);
          const path = `/v1/resources/${created.id}`;
          expectStatus(await client.patch(path, { name: `Renamed ${i}` }), 200);
          expectStatus(await client.patch(path, { status: 'archived' }), 200);
          expectStatus(await client.delete(path), 204);
          return created;
        }),
      );
      await untilNewest(51);
      all = (await list('?per_page=100&after=1')).data;
    });

    test('every event is in the feed once, without a webhook, in order per resource, without gaps', () => {
      expect(sequencesOf(all)).toEqual(upTo(51, 2));
      expect(new Set(all.map(({ id }) => id)).size).toBe(50);
      for (const { id } of resources) {
        const own = all.filter(({ data }) => data?.object.id === id);
        expect(own.map(({ type }) => type)).toEqual(typesOfEach);
      }
    });

    test('an event of the feed has the same bytes as the delivery to a webhook, plus its sequence', async () => {
      await using receiver = disposable(await startReceiver({ path: '' }));
      const mine = await newAccount(target());
      const by = await mine.client('live', 'admin');
      const subscriber = await subscribe(by, receiver);
      const created = await create(by, 'Naïve “quotes” 資源 🎈 \u2028 \u0007 "}');
      const body = { metadata: { __proto__x: 'a', 'sequence":1': '{"}' }, status: 'inactive' };
      expectStatus(await by.patch(`/v1/resources/${created.id}`, body), 200);
      const received = new Map((await subscriber.waitFor(3)).map(({ envelope, raw }) => [envelope.id, `${raw}`]));
      const reader = await mine.client('live', 'read');
      const { text } = await reader.get<FeedPage>('/v1/events');
      const { data } = JSON.parse(text) as FeedPage;
      const delivered = data.map(({ id, sequence }) => received.get(id)?.replace(/}$/, `,"sequence":${sequence}}`));
      expect(received.size).toBe(3);
      expect(text.slice(0, text.indexOf('],"meta"'))).toBe(`{"data":[${delivered.join(',')}`);
    });

    test('the links of the feed lead through all events and back, with page numbers and the exact total', async () => {
      const forwards = await walk(await list('?per_page=7'), 'next');
      const meta = { total: 51, per_page: 7, oldest_sequence: 1, newest_sequence: 51 };
      expect(forwards.map((page) => page.meta)).toEqual(upTo(8).map((page) => ({ ...meta, page })));
      expect(forwards.flatMap(({ data }) => data).slice(1)).toEqual(all);
      const backwards = await walk(forwards.at(-1) as FeedPage, 'prev');
      expect(backwards.map(({ data }) => data)).toEqual(forwards.map(({ data }) => data).reverse());
      expect(backwards.at(-1)?.meta.page).toBe(1);
      const next = new URL((await list('?per_page=7&after=3')).links.next ?? '');
      expect([next.origin, next.pathname]).toEqual([new URL(client.baseUrl).origin, '/v1/events']);
      expect(Object.fromEntries(next.searchParams)).toEqual({ per_page: '7', after: '10' });
    });

    test('the feed continues after any sequence, and per_page is 20 by default and at most 100', async () => {
      expect(sequencesOf((await list()).data)).toEqual(upTo(20));
      expect(sequencesOf((await list('?after=41&per_page=100')).data)).toEqual(upTo(51, 42));
      expect(await list('?after=51')).toMatchObject({ data: [], meta: { page: 4, total: 51 }, links: { next: null } });
      for (const query of [
        'per_page=101',
        'per_page=0',
        'type=resource.created',
        'sort=x',
        'cursor=x',
        'after=1&after=1',
      ]) {
        const response = await client.get<ErrorBody>(`/v1/events?${query}`);
        expect([query, response.status]).toEqual([query, 400]);
        expect(response.body.error.details?.[0]?.field).toBe(query.split('=')[0]);
      }
    });

    test('after is an integer, at most the sequence of the newest event', async () => {
      for (const after of ['-1', '1.5', '', 'x', '01', '1e1', '%201', '52', '9007199254740991', '9'.repeat(30)]) {
        const response = await client.get<ErrorBody>(`/v1/events?after=${after}`);
        expect([after, response.status, response.body.error.code]).toEqual([after, 400, 'invalid_request']);
        expect(response.body.error.details?.map(({ field }) => field)).toEqual(['after']);
      }
    });

    test('keys of every scope can read the feed', async () => {
      for (const scope of ['read', 'write', 'admin'] as const) {
        const { data } = await list('?after=49', await account.client('live', scope));
        expect(data.filter(({ type }) => type.startsWith('resource.'))).toEqual(all.slice(48));
      }
    });

    test('a reader that continues after the last event sees every concurrent event once, without gaps', async () => {
      const mine = await newAccount(target());
      const by = await mine.client('live', 'write');
      await untilNewest(1, by);
      const seen: FeedEvent[] = [];
      const read = async () => {
        seen.push(...(await list(`?per_page=17&after=${seen.at(-1)?.sequence ?? 0}`, by)).data);
        return seen.length >= 400;
      };
      const write = async (writer: number) => {
        const ids: string[] = [];
        for (let i = 0; i < 25; i++) ids.push((await create(by, `by ${writer}: ${i}`)).id);
        return ids;
      };
      const [created] = await Promise.all([
        Promise.all(upTo(16).map(write)),
        waitUntil(read, { what: '400 events', everyMs: 0 }),
      ]);
      expect(sequencesOf(seen)).toEqual(upTo(401, 2));
      expect(seen.map(({ data }) => data?.object.id).sort()).toEqual(created.flat().sort());
    });
  });
}
