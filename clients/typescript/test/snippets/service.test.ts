import { type Receiver, type Standalone, startReceiver, startStandalone, waitUntil } from '@rms/testkit';
import {
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  Rms,
  verifyWebhook,
} from '../../src/index.ts';

describe('the client with the whole service', () => {
  let service: Standalone;
  let receiver: Receiver;
  let rms: Rms;
  let readOnly: Rms;
  beforeAll(async () => {
    service = await startStandalone({
      env: { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
    });
    receiver = await startReceiver();
    const newClient = async (scope: string) => {
      const names = ['--environment', 'sandbox', '--scope', scope, '--name', scope];
      const { key } = await service.rms<{ key: string }>('keys', 'create', ...names);
      return new Rms({ url: service.sandboxUrl, apiKey: key });
    };
    rms = await newClient('admin');
    readOnly = await newClient('read');
  }, 120_000);
  afterAll(async () => {
    await receiver?.close();
    await service?.stop();
  });

  test('a resource is created once, read, changed under conditions, listed and deleted', async () => {
    const create = () => rms.resources.create({ name: 'Über', metadata: { team: 'blue' } }, { idempotencyKey: 'ts-1' });
    const created = await create();
    expect(created).toMatchObject({ status: 201, isReplayed: false, requestId: expect.stringMatching(/^req_/) });
    expect(await create()).toMatchObject({ data: { id: created.data.id }, isReplayed: true });
    const { id } = created.data;

    const { etag } = await rms.resources.get(id);
    expect(await rms.resources.get(id, { ifNoneMatch: etag })).toMatchObject({ status: 304, data: undefined, etag });
    const changed = await rms.resources.update(id, { status: 'archived' }, { ifMatch: etag });
    expect(changed.data).toMatchObject({ status: 'archived', metadata: { team: 'blue' } });
    await expect(rms.resources.update(id, { name: 'B' }, { ifMatch: etag })).rejects.toBeInstanceOf(
      PreconditionFailedError,
    );

    await Promise.all(Array.from({ length: 104 }, (_, i) => rms.resources.create({ name: `Item ${i}` })));
    const names = new Set<string>();
    for await (const { name } of rms.resources.list({ sort: 'name', status: 'active' })) names.add(name);
    expect(names.size).toBe(104);
    const page = await rms.resources.list({ per_page: 2, sort: 'name' }).page();
    expect(page.meta).toEqual({ total: 105, page: 1, per_page: 2 });
    expect((await (await page.next())?.previous())?.data).toEqual(page.data);

    expect(await rms.resources.delete(id, { ifMatch: changed.etag })).toMatchObject({ status: 204 });
    await expect(rms.resources.get(id)).rejects.toMatchObject({ code: 'not_found', requestId: expect.any(String) });
    await expect(rms.resources.get(id)).rejects.toBeInstanceOf(NotFoundError);
  });

  test('errors have the violations and the code of the API', async () => {
    const refused = rms.resources.create({ name: '', metadata: { '': 'x' } });
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    const { violations } = (await refused.catch((error: unknown) => error)) as InvalidRequestError;
    expect(violations.map(({ field }) => field)).toEqual(expect.arrayContaining(['name']));
    const forbidden = readOnly.resources.create({ name: 'A' });
    await expect(forbidden).rejects.toBeInstanceOf(PermissionError);
    await expect(forbidden).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  test('a webhook gets events that verifyWebhook accepts with either secret, and they can be sent again', async () => {
    const { data: webhook } = await rms.webhooks.create({ url: receiver.url, events: ['resource.created'] });
    const { data: rotated } = await rms.webhooks.rotateSecret(webhook.id, { overlap: 3_600 });
    expect((await rms.webhooks.update(webhook.id, { ordered: true })).data.ordered).toBe(true);
    const { data: attempt } = await rms.webhooks.test(webhook.id, { event_type: 'resource.created' });
    expect(attempt).toMatchObject({ error: null });
    const { data: resource } = await rms.resources.create({ name: 'Grüße 李' });

    const request = await receiver.waitFor(({ json }) => json.data.object.id === resource.id, 'the delivery');
    for (const secret of [webhook.secret, rotated.secret]) {
      const event = await verifyWebhook(request.body, request.headers, secret ?? '');
      expect(event.type === 'resource.created' && event.data.object).toMatchObject({ name: 'Grüße 李', version: 1 });
    }

    const filter = { webhook_id: webhook.id, resource_id: resource.id, status: ['delivered'] } as const;
    const delivery = await waitUntil(async () => (await rms.deliveries.list(filter).page()).data[0], {
      what: 'the delivery in the log',
    });
    expect((await rms.deliveries.get(delivery.id)).data.attempts).toHaveLength(1);
    await expect(rms.deliveries.cancel(delivery.id)).rejects.toBeInstanceOf(ConflictError);
    expect((await rms.deliveries.redeliver(delivery.id)).status).toBe(202);
    await receiver.waitFor(({ headers }) => headers['webhook-id'] === delivery.event_id, 'the redelivery');

    const since = { webhook_id: webhook.id, created_after: resource.created_at, statuses: ['delivered'] } as const;
    const { data: estimate } = await rms.replays.create({ ...since, dry_run: true });
    expect(estimate).toMatchObject({ matching_is_minimum: false });
    const { data: replay } = await rms.replays.create(since);
    if (!('id' in replay)) throw new Error('no replay');
    expect((await rms.replays.get(replay.id)).data.webhook_id).toBe(webhook.id);
    const { data: canceled } = await rms.replays.cancel(replay.id);
    expect(['done', 'canceled']).toContain(canceled.status);
    expect((await rms.replays.list().page()).data.map(({ id }) => id)).toContain(replay.id);

    expect((await rms.webhooks.get(webhook.id)).data.id).toBe(webhook.id);
    expect((await rms.webhooks.list().page()).data.map(({ id }) => id)).toEqual([webhook.id]);
    expect((await rms.webhooks.delete(webhook.id)).status).toBe(204);
  });

  test('the feed has all events in order, bounded and without end', async () => {
    const sequences: number[] = [];
    let last = 0;
    for await (const event of rms.events.feed()) {
      sequences.push(event.sequence);
      last = event.sequence;
    }
    expect(sequences).toEqual(sequences.map((_, i) => i + 1));
    expect(sequences.length).toBeGreaterThan(100);
    const following = rms.events.feed({ after: last, follow: true, pollInterval: 50 });
    const next = following.next();
    const { data: resource } = await rms.resources.create({ name: 'Followed' });
    const { value: event } = await next;
    expect(event?.data?.object.id).toBe(resource.id);
    await following.return();
    expect((await rms.events.get(event?.id ?? '')).data).toMatchObject({ type: 'resource.created' });
    expect((await rms.events.list({ after: last }).page()).data).toEqual([event]);
  });

  test('keys, the request log, the audit log and the workspace', async () => {
    const { data: key } = await rms.keys.create({ name: 'temporary', scope: 'read' });
    const { data: successor } = await rms.keys.roll(key.id, { overlap: 60 });
    expect(successor.key).toMatch(/^sk_test_/);
    expect((await rms.keys.get(key.id)).data).toMatchObject({ status: 'rolled', rolled_to: successor.id });
    const { data: renamed, requestId } = await rms.keys.update(successor.id, { name: 'renamed' });
    expect(renamed.name).toBe('renamed');
    const names: string[] = [];
    for await (const { name } of rms.keys.list({ status: 'active' })) names.push(name);
    expect(names).toEqual(expect.arrayContaining(['admin', 'renamed']));
    expect((await rms.keys.revoke(successor.id)).status).toBe(204);

    const logged = async () => (await rms.requests.get(requestId).catch(() => undefined))?.data.requests[0];
    const request = await waitUntil(logged, { what: 'the request in the log' });
    expect(request).toMatchObject({ method: 'PATCH', status: 200 });
    const { data: requests } = await rms.requests.list({ method: 'PATCH', route: '/v1/api_keys/{id}' }).page();
    expect(requests.map(({ request_id: id }) => id)).toContain(requestId);
    const actions: string[] = [];
    for await (const { action } of rms.audit.list({ target_id: successor.id })) actions.push(action);
    expect(actions).toEqual(expect.arrayContaining(['key.revoked', 'key.updated']));
    expect((await rms.workspace.get()).data).toMatchObject({ type: 'workspace', environment: 'sandbox' });
  });
});
