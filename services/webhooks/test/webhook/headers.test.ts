import { createHmac } from 'node:crypto';
import { type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { type Webhook, WebhookSchema } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { CreateWebhookRequestSchema } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { durationFromMs } from '@rms/rpc';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

const token = 'Bearer a-token-that-nobody-may-see';
const refused = (field: string, message: RegExp) => ({
  code: 'invalid_request',
  details: expect.arrayContaining([{ field, message: expect.stringMatching(message) }]),
});

describe('custom headers', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const subscribe = (tenant: Tenant, more: MessageInitShape<typeof CreateWebhookRequestSchema>) =>
    rms.subscribe(tenant, receiver.url, more);
  const read = async (tenant: Tenant, id: string) => (await rms.webhooks.getWebhook({ ...tenant, id })).webhook;
  /** Sends an event, and returns the headers that the endpoint got. */
  const deliver = async (tenant: Tenant, events = 1) => {
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, events);
    return receiver.requests.at(-1)?.headers ?? {};
  };

  test('reach the endpoint in deliveries and tests, with the signature under its second name', async () => {
    const tenant = newTenant();
    const { id, secret } = await subscribe(tenant, {
      headers: { 'X-Environment': 'production', Authorization: token },
      secretHeaders: ['Authorization'],
      signatureAlias: 'X-Old-Signature',
    });
    const headers = await deliver(tenant);
    expect(headers).toMatchObject({ 'x-environment': 'production', authorization: token });
    const signature = createHmac('sha256', secret)
      .update(receiver.requests[0]?.body ?? '')
      .digest('hex');
    expect([headers['x-service-signature'], headers['x-old-signature']]).toEqual([signature, signature]);
    await rms.webhooks.testWebhook({ ...tenant, id });
    expect(receiver.requests[1]?.headers).toMatchObject({ 'x-environment': 'production', authorization: token });
  });

  test('with secret values are in no response, log, audit entry or column', async () => {
    const tenant = newTenant();
    const created = await rms.webhooks.createWebhook({
      ...tenant,
      url: receiver.url,
      events: ['*'],
      headers: { 'X-Environment': 'production', Authorization: token },
      secretHeaders: ['Authorization'],
      idempotencyKey: 'once',
    });
    const { id = '' } = created.webhook ?? {};
    await deliver(tenant);
    await rms.webhooks.testWebhook({ ...tenant, id });
    const [delivery] = await rms.list(tenant, { test: false });
    const logged = await rms.deliveries.getDelivery({ ...tenant, id: delivery?.id ?? '' });
    const shown = logged.delivery?.attempts[0]?.requestHeaders.map(({ name, value }) => [name, value]);
    expect(shown).toEqual(
      expect.arrayContaining([
        ['X-Environment', 'production'],
        ['Authorization', '(secret)'],
      ]),
    );
    expect(created.webhook).toMatchObject({
      headers: { 'X-Environment': 'production' },
      secretHeaders: ['Authorization'],
    });
    const { rows } = await rms.database.pool.query(
      `select (select json_agg(w) from webhooks.webhooks as w where w.id = $1)::text as webhook,
              (select json_agg(e) from audit.entries as e where e.target_id = $1)::text as audit,
              (select json_agg(l) from webhooks.delivery_log as l where l.webhook_id = $1)::text as log`,
      [id],
    );
    const texts = [
      ...Object.values(rows[0]),
      JSON.stringify(toJson(WebhookSchema, created.webhook as Webhook)),
      JSON.stringify(shown),
    ];
    expect(texts.filter((text) => String(text).includes(id))).not.toEqual([]);
    for (const text of texts) expect(text).not.toContain('nobody-may-see');
    expect(rows[0].audit).toContain('secret_header_values');
  });

  test('are replaced by a change, except secret ones without a new value', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, {
      headers: { A: '1', Authorization: token },
      secretHeaders: ['Authorization'],
    });
    const update = (change: object) => rms.webhooks.updateWebhook({ ...tenant, id, ...change });
    await update({ headers: { values: { B: '2' } } });
    expect(await read(tenant, id)).toMatchObject({ headers: { B: '2' }, secretHeaders: ['Authorization'] });
    expect(await deliver(tenant)).toMatchObject({ b: '2', authorization: token });
    // Everything that a response contains can be sent back.
    await update({ headers: { values: { B: '2' } }, secretHeaders: { names: ['Authorization'] } });
    expect(await deliver(tenant, 2)).toMatchObject({ b: '2', authorization: token });
    await update({
      headers: { values: { B: '2', authorization: 'other' } },
      secretHeaders: { names: ['B', 'authorization'] },
    });
    expect(await read(tenant, id)).toMatchObject({ headers: {}, secretHeaders: ['B', 'authorization'] });
    expect(await deliver(tenant, 3)).toMatchObject({ b: '2', authorization: 'other' });
    await update({ secretHeaders: { names: ['B'] } });
    const headers = await deliver(tenant, 4);
    expect([headers.b, headers.authorization]).toEqual(['2', undefined]);
    await expect(update({ secretHeaders: { names: ['B', 'C'] } })).rejects.toMatchObject(
      refused('secret_headers', /value for "C"/),
    );
    await update({ headers: { values: {} }, secretHeaders: { names: [] } });
    const { rows } = await rms.database.pool.query(
      'select secret_headers_sealed from webhooks.webhooks where id = $1',
      [id],
    );
    expect(rows).toEqual([{ secret_headers_sealed: null }]);
  });

  test('with names of the service or HTTP, duplicates, and values that HTTP cannot carry are refused', async () => {
    const tenant = newTenant();
    const names = [
      'Content-Type',
      'content-length',
      'HOST',
      'Webhook-Signature',
      'X-Service-Signature',
      'Transfer-Encoding',
      'traceparent',
      'with space',
      'colon:',
      'x\r\nInjected',
      '__proto__',
      'ü',
      '',
      'x'.repeat(101),
    ];
    for (const name of names) {
      const headers = Object.fromEntries([[name, '1']]);
      await expect(subscribe(tenant, { headers })).rejects.toMatchObject(refused('headers', /./));
      if (name === '') continue;
      await expect(subscribe(tenant, { signatureAlias: name })).rejects.toMatchObject(refused('signature_alias', /./));
    }
    for (const value of ['a\r\nInjected: 1', 'ü', '\0', ' 1', '1 ', 'x'.repeat(501)]) {
      await expect(subscribe(tenant, { headers: { A: value } })).rejects.toMatchObject(refused('headers', /printable/));
    }
    await expect(subscribe(tenant, { headers: { A: '1', a: '2' } })).rejects.toMatchObject(refused('headers', /twice/));
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, '1']));
    await expect(subscribe(tenant, { headers: many })).rejects.toMatchObject(refused('headers', /at most 20/));
    await expect(subscribe(tenant, { headers: { A: '1' }, signatureAlias: 'a' })).rejects.toMatchObject(
      refused('signature_alias', /custom header/),
    );
  });

  test('a request ends at the timeout of its webhook, and the lease lasts longer', async () => {
    const tenant = newTenant();
    receiver.respondWith(() => {});
    const { id } = await subscribe(tenant, { timeout: durationFromMs(1_000), retryPolicy: retries(0, 1_000) });
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery?.attempts[0]?.error).toMatch(/^timeout: no complete response within 1 s/);
    await rms.webhooks.updateWebhook({ ...tenant, id, timeout: durationFromMs(30_000) });
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 2, { what: 'the second request' });
    const { rows } = await rms.database.pool.query(
      `select extract(epoch from leased_until - now())::float8 as seconds,
              extract(epoch from due_at - now())::float8 as due
         from webhooks.deliveries where webhook_id = $1`,
      [id],
    );
    expect(rows[0].due).toBeGreaterThan(30);
    for (const ms of [0, 999, 30_001]) {
      await expect(subscribe(tenant, { timeout: durationFromMs(ms) })).rejects.toMatchObject(
        refused('timeout', /1 to 30/),
      );
    }
    await rms.webhooks.deleteWebhook({ ...tenant, id });
  });
});
