import { newId } from '@rms/base/ids';
import { disposable, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';

interface RequestObject {
  readonly request_id: string;
  readonly method: string;
  readonly path: string | null;
  readonly route: string | null;
  readonly status: number | null;
  readonly api_key_id: string | null;
  readonly client_ip: string | null;
}

interface Timeline {
  readonly requests: readonly RequestObject[];
  readonly events: readonly { readonly id: string; readonly resource_id: string }[];
  readonly deliveries: readonly { readonly attempts: readonly { readonly status: number }[] }[];
  readonly steps: readonly { readonly at: string; readonly text: string }[];
}

/** The request log through the REST API. */
export function requestsSuite(target: () => Target): void {
  describe('Requests', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const list = async (query: string) =>
      expectStatus(await client.get<Page<RequestObject>>(`/v1/requests?${query}`), 200).body;
    const create = async (requestId: string) => {
      const headers = { 'X-Request-ID': requestId };
      return expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Traced' }, { headers }), 201).body
        .data;
    };

    test('recent requests are listed newest first, with every filter, page by page', async () => {
      for (const number of [1, 2, 3]) await create(`listed-request-${number}`);
      const { id } = await create('listed-request-4');
      expectStatus(await client.get(`/v1/resources/${id}`, { headers: { 'X-Request-ID': 'listed-request-5' } }), 200);
      await client.get('/v1/resources/res_missing', { headers: { 'X-Request-ID': 'listed-request-6' } });
      const found = await waitUntil(
        async () => {
          const { data } = await list('per_page=100');
          const listed = data.filter(({ request_id: requestId }) => requestId.startsWith('listed-request-'));
          return listed.length === 6 && listed;
        },
        { what: 'the reports of six requests' },
      );
      expect(found.map((one) => Number(one.request_id.at(-1)))).toEqual([6, 5, 4, 3, 2, 1]);
      const [missing, read] = found;
      expect(missing).toMatchObject({
        method: 'GET',
        path: '/v1/resources/res_missing',
        route: '/v1/resources/{id}',
        status: 404,
        error_code: 'not_found',
        api_key_id: expect.stringMatching(/^key_/),
        user_id: null,
        client_ip: expect.any(String),
        duration_ms: expect.any(Number),
      });
      const route = encodeURIComponent('/v1/resources/{id}');
      const idsOf = async (query: string) => (await list(query)).data.map((one) => one.request_id);
      expect(await idsOf(`route=${route}&status=4xx`)).toEqual(['listed-request-6']);
      expect(await idsOf(`route=${route}&status=200`)).toEqual(['listed-request-5']);
      expect(await idsOf(`method=POST&api_key_id=${read?.api_key_id}&status=201`)).toHaveLength(4);
      expect(await idsOf(`api_key_id=${newId('key')}`)).toEqual([]);
      expect(await idsOf('error_code=not_found')).toEqual(['listed-request-6']);
      expect(await idsOf('error_code=conflict')).toEqual([]);
      expect(await idsOf(`route=${route}&client_ip=${missing?.client_ip}`)).toHaveLength(2);
      expect(await idsOf('client_ip=192.0.2.1')).toEqual([]);
      expect(await idsOf(`user_id=${newId('usr')}`)).toEqual([]);
      expect(await idsOf(`route=${route}&status=2xx`)).toEqual(['listed-request-5']);
      expect(await idsOf('created_after=2999-01-01T00:00:00Z')).toEqual([]);
      const pages = [await list('method=POST&per_page=3')];
      for (let next = pages[0]?.links.next; next; next = pages.at(-1)?.links.next) {
        pages.push(expectStatus(await client.get<Page<RequestObject>>(next), 200).body);
      }
      expect(pages.flatMap(({ data }) => data).map((one) => Number(one.request_id.at(-1)))).toEqual([4, 3, 2, 1]);
    });

    test('the timeline of a request has its response, event, delivery and attempt', async () => {
      await using receiver = disposable(await startReceiver({ path: '' }));
      const subscriber = await subscribe(client, receiver);
      const { id } = await create('timeline-request-1');
      await subscriber.waitForEventsOf(id, 1);
      const timeline = await waitUntil(
        async () => {
          const answer = await client.get<One<Timeline>>('/v1/requests/timeline-request-1');
          const { requests = [], deliveries = [] } = answer.status === 200 ? answer.body.data : {};
          return requests.length === 1 && deliveries[0]?.attempts.length === 1 && answer.body.data;
        },
        { what: 'the complete timeline' },
      );
      expect(timeline).toMatchObject({
        requests: [{ method: 'POST', path: '/v1/resources', status: 201 }],
        events: [{ resource_id: id, type: 'resource.created' }],
        deliveries: [{ webhook_id: subscriber.webhook.id, status: 'delivered', attempts: [{ status: 200 }] }],
      });
      const texts = timeline.steps.map(({ text }) => text).join('\n');
      for (const part of [
        'POST /v1/resources in live with key',
        'resource.created evt_',
        'responded 201',
        'attempt 1 of',
      ]) {
        expect(texts).toContain(part);
      }
      expect(timeline.steps.map(({ at }) => at)).toEqual(timeline.steps.map(({ at }) => at).sort());
    });

    test('requests of other workspaces and environments are not listed and have no timeline', async () => {
      await create('private-request-1');
      await waitUntil(async () => (await client.get('/v1/requests/private-request-1')).status === 200, {
        what: 'the report of the request',
      });
      const stranger = await (await newAccount(target())).client('live', 'admin');
      for (const other of [stranger, await account.client('test', 'admin')]) {
        const { data } = (await other.get<Page<RequestObject>>('/v1/requests?per_page=100')).body;
        expect(data.map((one) => one.request_id)).not.toContain('private-request-1');
        expect((await other.get('/v1/requests/private-request-1')).status).toBe(404);
      }
    });
  });
}
