import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';

interface Series {
  readonly data: readonly {
    readonly start: string;
    readonly group?: string;
    readonly count?: number;
    readonly created?: number;
    readonly delivered?: number;
  }[];
  readonly meta: {
    readonly granularity: string;
    readonly from: string;
    readonly to: string;
    readonly total: {
      readonly count?: number;
      readonly created?: number;
      readonly delivered?: number;
      readonly filtered?: number;
    };
  };
}

const minuteMs = 60_000;

export function metricsSuite(target: () => Target): void {
  describe('Metrics', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const receiver = perSuite(() => startReceiver({ path: '' }));

    const ago = (minutes: number) => new Date(Date.now() - minutes * minuteMs).toISOString();
    const read = async (kind: 'requests' | 'deliveries', query: string, by = client) =>
      expectStatus(await by.get<Series>(`/v1/metrics/${kind}?${query}`), 200).body;
    /** Sums of a count by group. */
    const sumsOf = ({ data }: Series, name: 'count' | 'created' | 'delivered') => {
      const sums: Record<string, number> = {};
      for (const { group = '', [name]: value = 0 } of data) sums[group] = (sums[group] ?? 0) + value;
      return sums;
    };

    test('requests are counted over time, by route, class of the status and key', async () => {
      const own = await account.client('test', 'admin');
      for (let i = 0; i < 3; i += 1) expectStatus(await own.post('/v1/resources', { name: 'Counted' }), 201);
      await own.get('/v1/resources/res_missing');
      const by = (grouping: string) => read('requests', `from=${ago(5)}&granularity=minute&group_by=${grouping}`, own);
      const routes = await waitUntil(
        async () => {
          const sums = sumsOf(await by('route'), 'count');
          return sums['POST /v1/resources'] === 3 && sums;
        },
        { what: 'the requests' },
      );
      expect(routes['GET /v1/resources/{id}']).toBe(1);
      expect(sumsOf(await by('status_class'), 'count')['4xx']).toBe(1);
      expect(Object.keys(sumsOf(await by('api_key_id'), 'count'))).toEqual([expect.stringMatching(/^key_/)]);
      const { data, meta } = await read('requests', `from=${ago(5)}&granularity=minute`, own);
      expect(data.length).toBeGreaterThanOrEqual(6);
      expect(meta.total.count).toBe(data.reduce((sum, { count = 0 }) => sum + count, 0));
      expect(meta.from).toBe(data[0]?.start);
    });

    test('deliveries are counted over time, by webhook, event type, and class of the status and the error', async () => {
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Delivered' }), 201);
      const query = `from=${ago(5)}&granularity=minute&webhook_id=${webhook.id}`;
      const by = async (grouping: string) =>
        sumsOf(await read('deliveries', `${query}&group_by=${grouping}`), 'delivered');
      // Attempts and ended deliveries are counted separately.
      await waitUntil(async () => (await by('status_class'))['2xx'] === 1, { what: 'the attempt' });
      await waitUntil(async () => (await by('webhook_id'))[webhook.id] === 1, { what: 'the delivery' });
      expect(await by('webhook_id')).toEqual({ [webhook.id]: 1 });
      expect(await by('event_type')).toEqual({ 'resource.created': 1 });
      expect(await by('error_class')).toEqual({ none: 1 });
      expect((await read('deliveries', query)).meta.total).toMatchObject({ created: 1, delivered: 1, attempts: 1 });
    });

    test('an event that the filter of a webhook rejects makes no delivery and is counted as filtered', async () => {
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      const filter = { all: [{ field: 'name', op: 'eq', value: 'Wanted' }] };
      expectStatus(await client.patch(`/v1/webhooks/${webhook.id}`, { filter }), 200);
      expectStatus(await client.post('/v1/resources', { name: 'Unwanted' }), 201);
      const query = `from=${ago(5)}&webhook_id=${webhook.id}`;
      const { meta } = await waitUntil(
        async () => {
          const series = await read('deliveries', query);
          return series.meta.total.filtered !== 0 && series;
        },
        { what: 'the filtered event' },
      );
      expect(meta.total).toMatchObject({ filtered: 1, created: 0, delivered: 0 });
    });

    test('the default of metrics is hours until now', async () => {
      const { data, meta } = await read('deliveries', `from=${ago(60)}`);
      expect(meta.granularity).toBe('hour');
      expect(data.map(({ start }) => Date.parse(start) % (60 * minuteMs))).toEqual(data.map(() => 0));
      expect(Date.now() - Date.parse(meta.to)).toBeLessThan(5 * minuteMs);
    });

    test('metrics for too many points, an empty range or an unknown group get 400', async () => {
      for (const [query, field] of [
        [`from=${ago(1_600)}&granularity=minute`, 'granularity'],
        [`from=${ago(0)}&to=${ago(1)}`, 'from'],
        ['', 'from'],
        ['from=yesterday', 'from'],
        [`from=${ago(5)}&group_by=path`, 'group_by'],
        [`from=${ago(5)}&granularity=second`, 'granularity'],
      ]) {
        for (const kind of ['requests', 'deliveries']) {
          const { status, body } = await client.get<ErrorBody>(`/v1/metrics/${kind}?${query}`);
          expect([query, status, body.error.details?.[0]?.field]).toEqual([query, 400, field]);
        }
      }
      expect((await client.get(`/v1/metrics/deliveries?from=${ago(5)}&webhook_id=x`)).status).toBe(400);
    });

    test('metrics include no requests or deliveries of another workspace or environment', async () => {
      const { webhook } = await subscribe(client, receiver);
      expectStatus(await client.post('/v1/resources', { name: 'Private' }), 201);
      await waitUntil(async () => ((await read('deliveries', `from=${ago(5)}`)).meta.total.delivered ?? 0) > 0, {
        what: 'the delivery',
      });
      const other = await newAccount(target());
      for (const outsider of [await other.client('live', 'admin'), await other.client('test', 'admin')]) {
        const none = { created: 0, delivered: 0, attempts: 0 };
        for (const query of ['', `&webhook_id=${webhook.id}`, '&group_by=webhook_id', '&group_by=event_type']) {
          const { data, meta } = await read('deliveries', `from=${ago(5)}${query}`, outsider);
          expect([query, meta.total]).toEqual([query, expect.objectContaining(none)]);
          if (query.includes('group_by')) expect(data).toEqual([]);
        }
        const { data } = await read('requests', `from=${ago(5)}&group_by=route`, outsider);
        expect(data.filter(({ group }) => !group?.includes('/v1/metrics/'))).toEqual([]);
      }
    });
  });
}
