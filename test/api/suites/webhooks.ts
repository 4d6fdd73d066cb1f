import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import { type ErrorBody, type One, type Page, timestampForm, type Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

const url = 'https://example.com/hooks/rms';

export function webhooksSuite(target: () => Target): void {
  describe('Webhooks', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const create = async (body: object = { url, events: ['resource.created'] }) =>
      expectStatus(await client.post<One<Webhook>>('/v1/webhooks', body), 201).body.data;
    const list = async (query = '') => expectStatus(await client.get<Page<Webhook>>(`/v1/webhooks${query}`), 200).body;
    /** Fields that follow from the status and from each change. */
    const volatile = ({ health, disabled_reason, updated_at }: Webhook) => ({ health, disabled_reason, updated_at });
    const withoutSecret = ({ secret: _, ...webhook }: Webhook) => webhook;

    test('POST returns 201 with the webhook and its secret', async () => {
      const answer = await client.post<One<Webhook>>('/v1/webhooks', { url, events: ['resource.created'] });
      expect(answer.status).toBe(201);
      expect(answer.body).toEqual({
        data: {
          id: expect.stringMatching(/^wh_[0-9a-z]+$/),
          url,
          events: ['resource.created'],
          status: 'active',
          disabled_reason: null,
          description: '',
          ordered: false,
          retry_policy: { max_retries: 5, initial_delay: 60, max_delay: 43_200 },
          rate_limit: { requests_per_second: null, max_concurrency: 32 },
          headers: {},
          secret_headers: [],
          timeout: 10,
          signature_alias: null,
          filter: null,
          health: {
            state: 'healthy',
            success_rate_1h: null,
            pending: 0,
            oldest_pending_at: null,
            next_attempt_at: null,
          },
          client_certificate: null,
          previous_secret_expires_at: null,
          secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
          created_at: expect.stringMatching(timestampForm),
          updated_at: expect.stringMatching(timestampForm),
        },
      });
    });

    test('the secret is returned only once, in the create response', async () => {
      const made = await create();
      const { secret } = made;
      const seen = [
        (await client.get(`/v1/webhooks/${made.id}`)).text,
        (await client.get('/v1/webhooks?per_page=100')).text,
        (await client.patch(`/v1/webhooks/${made.id}`, { events: ['*'] })).text,
        JSON.stringify(await account.rms('webhooks', 'list')),
      ];
      for (const text of seen) {
        expect(text).toContain(made.id);
        expect(text).not.toContain('whsec_');
        expect(text).not.toContain(secret?.slice(6));
      }
    });

    test('webhooks are listed newest first in the list envelope', async () => {
      const mine = await (await newAccount(target())).client('live', 'admin');
      const empty = await mine.get('/v1/webhooks');
      expect([empty.status, empty.body]).toEqual([
        200,
        { data: [], meta: { total: 0, page: 1, per_page: 20 }, links: { next: null, prev: null } },
      ]);
      const made: Webhook[] = [];
      for (let i = 0; i < 5; i++) {
        const answer = await mine.post<One<Webhook>>('/v1/webhooks', { url: `${url}/${i}`, events: ['*'] });
        made.unshift(withoutSecret(expectStatus(answer, 201).body.data));
      }
      const pages: Page<Webhook>[] = [];
      for (let next: string | null = '/v1/webhooks?per_page=2'; next !== null; ) {
        const page: Page<Webhook> = expectStatus(await mine.get<Page<Webhook>>(next), 200).body;
        pages.push(page);
        next = page.links.next;
      }
      expect(pages.flatMap(({ data }) => data)).toEqual(made);
      expect(pages.map(({ meta }) => meta)).toEqual([1, 2, 3].map((page) => ({ total: 5, page, per_page: 2 })));
      const back = await mine.get<Page<Webhook>>(pages[2]?.links.prev ?? '');
      expect(back.body.data).toEqual(pages[1]?.data);
      expect((await mine.get('/v1/webhooks?per_page=101')).status).toBe(400);
      expect((await mine.get('/v1/webhooks?cursor=made-up')).status).toBe(400);
    });

    test('a single webhook can be read', async () => {
      const made = await create();
      const answer = await client.get(`/v1/webhooks/${made.id}`);
      expect([answer.status, answer.body]).toEqual([200, { data: withoutSecret(made) }]);
    });

    test('url, events and status of a webhook can be changed individually', async () => {
      const made = withoutSecret(await create());
      const path = `/v1/webhooks/${made.id}`;
      for (const change of [{ url: `${url}/2` }, { events: ['*'] }, { status: 'disabled' }, { status: 'active' }]) {
        const answer = await client.patch<One<Webhook>>(path, change);
        const { data } = answer.body;
        expect([answer.status, Object.assign(made, change)]).toEqual([200, { ...data, ...volatile(made) }]);
        expect((await client.get(path)).body).toEqual(answer.body);
      }
      const { data } = (await client.patch<One<Webhook>>(path, {})).body;
      expect({ ...data, ...volatile(made) }).toEqual(made);
    });

    test('DELETE of a webhook returns 204 and removes it', async () => {
      const { id } = await create();
      const answer = await client.delete(`/v1/webhooks/${id}`);
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect((await client.get(`/v1/webhooks/${id}`)).status).toBe(404);
      expect((await client.patch(`/v1/webhooks/${id}`, { events: ['*'] })).status).toBe(404);
      expect((await client.delete(`/v1/webhooks/${id}`)).status).toBe(404);
      expect((await list('?per_page=100')).data.map((webhook) => webhook.id)).not.toContain(id);
    });

    test('an unknown or malformed webhook id gets 404', async () => {
      for (const id of ['wh_x', `res_${'0'.repeat(26)}`, 'x', `wh_${'0'.repeat(26)}`]) {
        expect((await client.get(`/v1/webhooks/${id}`)).status).toBe(404);
        expect((await client.delete(`/v1/webhooks/${id}`)).status).toBe(404);
      }
    });

    const expectRefused = async (field: string, body: object) => {
      const before = (await list()).meta.total;
      const answer = await client.post<ErrorBody>('/v1/webhooks', body);
      expect([body, answer.status, answer.body.error.code]).toEqual([body, 400, 'invalid_request']);
      expect(answer.body.error.details?.some((detail) => detail.field.startsWith(field))).toBe(true);
      expect((await list()).meta.total).toBe(before);
    };

    test('url and events are required', async () => {
      await expectRefused('url', { events: ['*'] });
      await expectRefused('events', { url });
      await expectRefused('url', {});
    });

    test('events must be known event types, or "*" alone', async () => {
      const types = ['resource.created', 'resource.updated', 'resource.deleted', 'resource.status_changed'];
      for (const events of [types, ['*'], ...types.map((type) => [type])]) {
        expect((await create({ url, events })).events.sort()).toEqual([...events].sort());
      }
      const wrong = [[], ['resource.*'], ['resource.renamed'], [''], '*', ['*', 'resource.created'], [1], null, {}];
      for (const events of wrong) await expectRefused('events', { url, events });
      await expectRefused('events', { url, events: ['resource.created', 'resource.created'] });
    });

    test('a URL has no user information and at most 2,048 characters', async () => {
      await create({ url: `https://example.com/${'a'.repeat(2_048 - 20)}`, events: ['*'] });
      await expectRefused('url', { url: `https://example.com/${'a'.repeat(2_049 - 20)}`, events: ['*'] });
      await expectRefused('url', { url: 'https://user:password@example.com/', events: ['*'] });
      await expectRefused('url', { url: 'https://user@example.com/', events: ['*'] });
    });

    test('a string that is not a URL is rejected', async () => {
      for (const wrong of ['', 'example.com', '//example.com', 'https://', 'https:', 'javascript:alert(1)', 1, null]) {
        await expectRefused('url', { url: wrong, events: ['*'] });
      }
    });

    test('unknown fields of a webhook are rejected', async () => {
      await expectRefused('secret', { url, events: ['*'], secret: 'whsec_mine' });
      await expectRefused('status', { url, events: ['*'], status: 'failing' });
      const { id } = await create();
      for (const body of [{ secret: 'x' }, { status: 'failing' }, { id: 'wh_x' }, { url: null }]) {
        expect((await client.patch(`/v1/webhooks/${id}`, body)).status).toBe(400);
      }
    });
  });
}
