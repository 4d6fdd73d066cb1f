import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function listsSuite(target: () => Target): void {
  describe('Lists', () => {
    const names = ['delta', 'Alpha', 'échelle', 'bravo', 'charlie', '🎈', 'alpha', 'zulu', 'bravo'];
    const statuses = ['active', 'inactive', 'archived'] as const;
    let all: Resource[];

    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const sandbox = perSuite(() => account.client('test', 'admin'));
    beforeAll(async () => {
      for (let i = 0; i < 45; i++) {
        const body = { name: names[i % names.length], metadata: { i: `${i}` } };
        const { id } = expectStatus(await client.post<One<Resource>>('/v1/resources', body), 201).body.data;
        const status = statuses[i % 3];
        if (status !== 'active') expectStatus(await client.patch(`/v1/resources/${id}`, { status }), 200);
      }
      all = (await client.get<Page<Resource>>('/v1/resources?per_page=100')).body.data;
    });

    const list = async (query = '') => {
      const path = `/v1/resources${query === '' ? '' : `?${query}`}`;
      return expectStatus(await client.get<Page<Resource>>(path), 200).body;
    };

    /** Follows the links from a page to the end; returns the pages in order. */
    const walk = async (first: Page<Resource>, link: 'next' | 'prev') => {
      const pages = [first];
      for (let url = first.links[link]; url !== null; ) {
        const page: Page<Resource> = expectStatus(await client.get<Page<Resource>>(url), 200).body;
        pages.push(page);
        url = page.links[link];
        if (pages.length > 200) throw new Error(`following links.${link} does not end`);
      }
      return pages;
    };
    const idsOf = (pages: Page<Resource>[]) => pages.flatMap((page) => page.data.map(({ id }) => id));

    test('an account with no resources returns an empty data, total 0, page 1 and per_page 20', async () => {
      const response = await sandbox.get('/v1/resources');
      expect([response.status, response.body]).toEqual([
        200,
        { data: [], meta: { total: 0, page: 1, per_page: 20 }, links: { next: null, prev: null } },
      ]);
    });

    test('per_page is 20 by default and at most 100', async () => {
      const byDefault = await list();
      expect([byDefault.data.length, byDefault.meta]).toEqual([20, { total: 45, page: 1, per_page: 20 }]);
      expect((await list('per_page=100')).meta.per_page).toBe(100);
      expect((await list('per_page=1')).data).toHaveLength(1);
      for (const value of ['0', '101', '-1', '1e1', '10abc', '1.5', '', '%20', '9'.repeat(30)]) {
        const response = await client.get<ErrorBody>(`/v1/resources?per_page=${value}`);
        expect([value, response.status]).toEqual([value, 400]);
        expect(response.body.error.details?.[0]?.field).toBe('per_page');
      }
    });

    test('list items have the same fields as a single resource, including metadata', async () => {
      for (const item of (await list('per_page=3')).data) {
        expect((await client.get<One<Resource>>(`/v1/resources/${item.id}`)).body.data).toEqual(item);
      }
    });

    test('the links lead through all pages and back, each resource once, with page numbers and the exact total', async () => {
      const forwards = await walk(await list('per_page=7'), 'next');
      expect(forwards.map(({ meta }) => meta)).toEqual(
        Array.from({ length: 7 }, (_, i) => ({ total: 45, page: i + 1, per_page: 7 })),
      );
      expect(idsOf(forwards)).toEqual(all.map(({ id }) => id));
      const last = forwards.at(-1) as Page<Resource>;
      const backwards = await walk(last, 'prev');
      expect(backwards.map(({ meta }) => meta.page)).toEqual([7, 6, 5, 4, 3, 2, 1]);
      expect(backwards.map(({ data }) => data)).toEqual(forwards.map(({ data }) => data).reverse());
    });

    test('next is null on the last page and prev on the first', async () => {
      const exact = await walk(await list('per_page=15'), 'next');
      expect(exact.map(({ data, links }) => [data.length, links.prev === null, links.next === null])).toEqual([
        [15, true, false],
        [15, false, false],
        [15, false, true],
      ]);
    });

    test('links are absolute URLs that keep per_page, status and sort', async () => {
      const { links } = await list('per_page=2&status=active&sort=name');
      const url = new URL(links.next ?? '');
      expect(url.origin).toBe(new URL(client.baseUrl).origin);
      expect(url.pathname).toBe('/v1/resources');
      expect(Object.fromEntries(url.searchParams)).toEqual({
        per_page: '2',
        status: 'active',
        sort: 'name',
        cursor: expect.stringMatching(/^[\w-]+$/),
      });
    });

    test('status filters the list and its total', async () => {
      for (const status of statuses) {
        const pages = await walk(await list(`status=${status}&per_page=4`), 'next');
        expect(idsOf(pages)).toEqual(all.filter((item) => item.status === status).map(({ id }) => id));
        expect(pages.every((page) => page.meta.total === 15)).toBe(true);
      }
      for (const status of ['deleted', 'Active', '', 'active,inactive']) {
        expect((await client.get(`/v1/resources?status=${status}`)).status).toBe(400);
      }
    });

    const byText = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const namesInOrder = ['Alpha', 'alpha', 'bravo', 'charlie', 'delta', 'échelle', 'zulu', '🎈'];
    const byName = (a: string, b: string) => namesInOrder.indexOf(a) - namesInOrder.indexOf(b);
    const compare = (field: 'created_at' | 'updated_at' | 'name') => (a: Resource, b: Resource) =>
      (field === 'name' ? byName : byText)(a[field], b[field]) || byText(a.id, b.id);

    test('sort orders by the field, descending with a minus, in both directions and with a filter', async () => {
      for (const field of ['created_at', 'updated_at', 'name'] as const) {
        for (const filter of ['', '&status=inactive']) {
          const matching = all.filter((item) => filter === '' || item.status === 'inactive');
          const ascending = [...matching].sort(compare(field)).map(({ id }) => id);
          for (const [sort, expected] of [
            [field, ascending],
            [`-${field}`, [...ascending].reverse()],
          ] as const) {
            const pages = await walk(await list(`sort=${sort}&per_page=6${filter}`), 'next');
            expect({ sort, filter, ids: idsOf(pages) }).toEqual({ sort, filter, ids: expected });
            const back = await walk(pages.at(-1) as Page<Resource>, 'prev');
            expect(back.map(({ data }) => data)).toEqual(pages.map(({ data }) => data).reverse());
          }
        }
      }
    });

    test('the default order is -created_at', async () => {
      expect((await list()).data).toEqual((await list('sort=-created_at')).data);
    });

    test('an unknown sort field is rejected', async () => {
      for (const sort of [
        'id',
        'status',
        '--name',
        '+name',
        'name,created_at',
        'metadata.i',
        '',
        '-',
        'Name',
        'name;drop',
      ]) {
        const response = await client.get<ErrorBody>(`/v1/resources?sort=${encodeURIComponent(sort)}`);
        expect([sort, response.status, response.body.error.details?.[0]?.field]).toEqual([sort, 400, 'sort']);
      }
    });

    test('name_prefix filters by name without regard to case and accents, and sorts by name', async () => {
      for (const [prefix, expected] of [
        ['ALPHA', ['Alpha', 'alpha']],
        ['ech', ['échelle']],
        ['nobody', []],
      ] as const) {
        const page = await list(`name_prefix=${prefix}&per_page=100`);
        expect([...new Set(page.data.map(({ name }) => name))]).toEqual(expected);
        expect(page.meta.total).toBeNull();
      }
      expect((await client.get('/v1/resources?name_prefix=')).status).toBe(400);
    });

    test('metadata[key]=value filters by up to three exact pairs, newest first', async () => {
      const page = await list('metadata[i]=7');
      expect(page.data).toEqual([all.find(({ metadata }) => metadata.i === '7')]);
      expect(page.meta.total).toBeNull();
      expect((await list('metadata[i]=7&metadata[j]=7')).data).toEqual([]);
      expect((await list('metadata[__proto__]=7')).data).toEqual([]);
      const tagged = { 'a[b]': 'ä & ü', '=': '' };
      await client.post('/v1/resources', { name: 'tagged', metadata: tagged });
      await client.post('/v1/resources', { name: 'tagged too', metadata: tagged });
      const query = new URLSearchParams();
      for (const [key, value] of Object.entries(tagged)) query.append(`metadata[${key}]`, value);
      const pages = await walk(await list(`${query}&per_page=1`), 'next');
      expect(pages.flatMap(({ data }) => data.map(({ name }) => name))).toEqual(['tagged too', 'tagged']);
      for (const page of pages) for (const { id } of page.data) await client.delete(`/v1/resources/${id}`);
      for (const [wrong, field] of [
        ['metadata=7', 'metadata'],
        ['metadata[]=7', 'metadata'],
        ['metadata[a]=1&metadata[a]=2', 'metadata[a]'],
        ['metadata[a]=1&metadata[b]=1&metadata[c]=1&metadata[d]=1', 'metadata'],
        ['metadata[a]=1&sort=name', 'sort'],
        ['name[a]=1', 'name[a]'],
      ]) {
        const { status, body } = await client.get<ErrorBody>(`/v1/resources?${wrong}`);
        expect([wrong, status, body.error.details?.[0]?.field]).toEqual([wrong, 400, field]);
      }
    });

    test('a cursor works only with the filter, sort and environment it was issued for', async () => {
      const { links } = await list('per_page=2&status=active&sort=name');
      const cursor = new URL(links.next ?? '').searchParams.get('cursor') ?? '';
      const other = await account.client('test', 'admin');
      const outsider = await (await newAccount(target())).client('live', 'admin');
      for (const response of [
        await client.get<ErrorBody>(`/v1/resources?per_page=2&status=inactive&sort=name&cursor=${cursor}`),
        await client.get<ErrorBody>(`/v1/resources?per_page=2&sort=name&cursor=${cursor}`),
        await client.get<ErrorBody>(`/v1/resources?per_page=2&status=active&sort=-name&cursor=${cursor}`),
        await other.get<ErrorBody>(`/v1/resources?per_page=2&status=active&sort=name&cursor=${cursor}`),
        await outsider.get<ErrorBody>(`/v1/resources?per_page=2&status=active&sort=name&cursor=${cursor}`),
      ]) {
        expect([response.status, response.body.error.code]).toEqual([400, 'invalid_request']);
        expect(response.body.error.details?.[0]?.field).toBe('cursor');
      }
      expect((await list(`per_page=3&status=active&sort=name&cursor=${cursor}`)).data).toHaveLength(3);
    });

    test('a modified or made-up cursor is rejected', async () => {
      const cursor = new URL((await list('per_page=2')).links.next ?? '').searchParams.get('cursor') ?? '';
      for (let i = 0; i < cursor.length; i += 5) {
        const changed = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1);
        expect((await client.get(`/v1/resources?per_page=2&cursor=${changed}`)).status).toBe(400);
      }
      for (const created of ['x', 'MQ', '', Buffer.from('{"page":2}').toString('base64url'), 'a'.repeat(5_000)]) {
        expect((await client.get(`/v1/resources?per_page=2&cursor=${created}`)).status).toBe(400);
      }
    });

    test('paging during concurrent writes returns every stable resource exactly once, in both directions', async () => {
      const stable = new Set(all.map(({ id }) => id));
      const writing = new AbortController();
      const writer = (async () => {
        for (let i = 0; !writing.signal.aborted; i++) {
          const created = await client.post<One<Resource>>('/v1/resources', { name: `in between ${i}` });
          const { id } = expectStatus(created, 201).body.data;
          if (i % 2 === 0) expectStatus(await client.delete(`/v1/resources/${id}`), 204);
        }
      })();
      for (const sort of ['-created_at', 'name', 'created_at']) {
        const there = await walk(await list(`per_page=5&sort=${sort}`), 'next');
        const back = await walk(there.at(-1) as Page<Resource>, 'prev');
        for (const pages of [there, back]) {
          const met = idsOf(pages);
          expect(met.filter((id) => stable.has(id)).sort()).toEqual([...stable].sort());
          expect(new Set(met).size).toBe(met.length);
          for (const page of pages) expect(page.meta.page).toBeGreaterThanOrEqual(1);
        }
      }
      writing.abort();
      await writer;
    });

    test('the total stays exact under concurrent creates, status changes and deletes', async () => {
      const mine = await account.client('test', 'admin');
      const expected = { active: 0, inactive: 0, archived: 0 };
      await Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          const { id } = expectStatus(await mine.post<One<Resource>>('/v1/resources', { name: `n${i}` }), 201).body
            .data;
          const status = statuses[i % 3] ?? 'active';
          expectStatus(await mine.patch(`/v1/resources/${id}`, { status }), 200);
          if (i % 4 === 0) expectStatus(await mine.delete(`/v1/resources/${id}`), 204);
          else expected[status]++;
        }),
      );
      for (const status of statuses) {
        const page = (await mine.get<Page<Resource>>(`/v1/resources?per_page=100&status=${status}`)).body;
        expect([status, page.meta.total, page.data.length]).toEqual([status, expected[status], expected[status]]);
      }
      expect((await mine.get<Page<Resource>>('/v1/resources')).body.meta.total).toBe(30);
    });
  });
}
