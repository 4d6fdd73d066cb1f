import { startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { One, Page, Resource, Webhook } from '../support/api-types.ts';
import type { Target } from '../support/shape.ts';
import { webhookAccount } from '../support/webhook-scene.ts';

export function webhookFiltersSuite(target: () => Target): void {
  describe('Filters of webhooks', () => {
    const { client } = webhookAccount(target);

    test('a webhook with a filter gets the events that match it, and no others', async () => {
      const filter = {
        any: [
          { field: 'metadata.team', op: 'eq', value: 'filtered' },
          { field: 'previous_attributes.name', op: 'prefix', value: 'Old' },
          {
            all: [
              { field: 'input_type', op: 'eq', value: 'advanced' },
              { field: 'name', op: 'eq', value: 'Advanced' },
            ],
          },
        ],
      };
      const own = await startReceiver({ path: '' });
      try {
        const { data } = expectStatus(
          await client.post<One<Webhook>>('/v1/webhooks', { url: own.url, events: ['*'], filter }),
          201,
        ).body;
        expect(data.filter).toEqual(filter);
        const make = async (body: object) =>
          expectStatus(await client.post<One<Resource>>('/v1/resources', body), 201).body.data;
        await make({ name: 'Advanced' });
        const matching = [
          await make({ name: 'Advanced', type: 'advanced' }),
          await make({ name: 'Team', metadata: { team: 'filtered' } }),
          await make({ name: 'Old name' }),
        ];
        expectStatus(await client.patch(`/v1/resources/${matching[2]?.id}`, { name: 'New name' }), 200);
        await waitUntil(async () => own.requests.length === 3, { what: 'three deliveries' });
        expect(own.requests.map(({ json }) => [json.type, json.data.object.id]).sort()).toEqual(
          [
            ['resource.created', matching[0]?.id],
            ['resource.created', matching[1]?.id],
            ['resource.updated', matching[2]?.id],
          ].sort(),
        );
        const deliveries = await client.get<Page<object>>(`/v1/deliveries?webhook_id=${data.id}`);
        expect(deliveries.body.data.length).toBe(3);
        const cleared = await client.patch<One<Webhook>>(`/v1/webhooks/${data.id}`, { filter: null });
        expect([cleared.status, cleared.body.data.filter]).toEqual([200, null]);
      } finally {
        await own.close();
      }
    });

    test('filter_test evaluates a filter and each of its conditions for an event', async () => {
      const conditions = [
        { field: 'name', op: 'prefix', value: 'Tested' },
        { field: 'metadata.team', op: 'not_exists' },
      ];
      const made = await client.post<One<Resource>>('/v1/resources', { name: 'Tested', metadata: { team: 'blue' } });
      const { id } = expectStatus(made, 201).body.data;
      const find = async () => {
        const { data } = (
          await client.get<Page<{ id: string; data: { object: { id: string } } }>>('/v1/events?per_page=100')
        ).body;
        return data.find((event) => event.data.object.id === id);
      };
      const event = await waitUntil(find, { what: 'the event' });
      const test = (body: object) => client.post<One<object>>('/v1/webhooks/filter_test', body);
      const expected = {
        matches: false,
        conditions: [
          { condition: conditions[0], holds: true, value: 'Tested' },
          { condition: conditions[1], holds: false, value: 'blue' },
        ],
      };
      for (const given of [{ event_id: event.id }, { event }]) {
        const { status, body } = await test({ filter: { all: conditions }, ...given });
        expect([status, body]).toEqual([200, { data: expected }]);
      }
      const { data } = (await test({ filter: { any: conditions }, event_id: event.id })).body;
      expect(data).toEqual({ ...expected, matches: true });
      const unfiltered = await test({ filter: null, event_id: event.id });
      expect([unfiltered.status, unfiltered.body.data]).toEqual([200, { matches: true, conditions: [] }]);
      for (const [status, wrong] of [
        [400, { filter: { all: conditions } }],
        [400, { filter: { all: conditions }, event, event_id: event.id }],
        [400, { filter: { all: [] }, event }],
        [400, { filter: { all: conditions }, event: { data: { object: { name: '\u0000' } } } }],
        [400, { filter: { all: conditions }, event: { data: { object: { name: '\ud800' } } } }],
        [400, { event }],
        [400, { filter: null }],
        [404, { filter: { all: conditions }, event_id: 'evt_x' }],
        [404, { filter: null, event_id: 'evt_x' }],
      ] as const) {
        expect([wrong, (await test(wrong)).status]).toEqual([wrong, status]);
      }
    });
  });
}
