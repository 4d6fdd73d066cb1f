import { newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { startServices, type TestServices } from './support.ts';

interface DeliveryDocument {
  id: string;
  event_id: string;
  status: string;
  attempts: { status_code: number | null; error: string | null }[];
}

describe('rms webhooks, deliveries and trace', () => {
  let services: TestServices;
  let receiver: Receiver;
  beforeAll(async () => {
    services = await startServices();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await services?.stop();
  });

  const { DELIVERED, FAILED } = DeliveryStatus;
  const inStatus = async (workspaceId: string, status: DeliveryStatus) =>
    (await services.deliveries.listDeliveries({ workspaceId, status, pageSize: 100 })).deliveries.length;

  /** A workspace of its own with a webhook in the sandbox, and commands about it. */
  const setUp = async () => {
    const { workspace } = await services.workspaces.createWorkspace({ name: 'w' });
    const workspaceId = workspace?.id ?? '';
    const { webhook } = await services.webhooks.createWebhook({
      workspaceId,
      environment: Environment.SANDBOX,
      url: receiver.url,
      events: ['*'],
    });
    const id = webhook?.id ?? '';
    const json = (...args: string[]) => services.json(...args, '--workspace', workspaceId);
    const rms = (...args: string[]) => services.rms(...args, '--workspace', workspaceId);
    /** Publishes events of one request, has them answered so, at most twice, and waits for the end of their deliveries. */
    const deliver = async ({ count = 1, answer = 200, requestId = newId('req') } = {}) => {
      receiver.respondWith(answer);
      await json('webhooks', 'retry-policy', id, '--max-retries', '1', '--initial-delay', '0.05', '--max-delay', '1');
      const events = Array.from({ length: count }, () => newId('evt'));
      await services.publish(workspaceId, requestId, ...events);
      await waitUntil(async () => (await inStatus(workspaceId, answer === 200 ? DELIVERED : FAILED)) === count, {
        what: 'the deliveries to end',
      });
      return { events, requestId };
    };
    return { workspaceId, id, json, rms, deliver };
  };

  test('webhooks list shows both environments', async () => {
    const { workspaceId, id, json, rms } = await setUp();
    const environment = Environment.LIVE;
    const live = await services.webhooks.createWebhook({
      workspaceId,
      environment,
      url: receiver.url,
      events: ['resource.created'],
    });
    const { data } = await json('webhooks', 'list');
    expect(data).toMatchObject([
      { id: live.webhook?.id, environment: 'live', events: ['resource.created'], status: 'active' },
      { id, environment: 'test', url: receiver.url, events: ['*'], status: 'active' },
    ]);
    expect(JSON.stringify(data)).not.toContain('whsec_');
    expect((await rms('webhooks', 'list')).stdout).toContain(receiver.url);
  });

  test('retry-policy takes seconds with fractions', async () => {
    const { id, json } = await setUp();
    const seconds = ['--max-retries', '7', '--initial-delay', '1.005', '--max-delay', '4.35'];
    expect((await json('webhooks', 'retry-policy', id, ...seconds)).retry_policy).toEqual({
      max_retries: 7,
      initial_delay_seconds: 1.005,
      max_delay_seconds: 4.35,
    });
  });

  test('disable and enable; rotate-secret shows the new secret', async () => {
    const { id, json } = await setUp();
    expect((await json('webhooks', 'disable', id)).status).toBe('disabled');
    expect((await json('webhooks', 'list')).data).toMatchObject([{ id, status: 'disabled' }]);
    expect((await json('webhooks', 'enable', id)).status).toBe('active');
    const secrets = [await json('webhooks', 'rotate-secret', id), await json('webhooks', 'rotate-secret', id)];
    expect(secrets).toEqual([
      { id, secret: expect.stringMatching(/^whsec_/) },
      { id, secret: expect.stringMatching(/^whsec_/) },
    ]);
    expect(secrets[0].secret).not.toBe(secrets[1].secret);
  });

  test('test shows what the endpoint answers, and the answer does not steer the terminal', async () => {
    const { id, json, rms } = await setUp();
    receiver.respondWith((_, response) => void response.writeHead(200).end('fine \u001b[2J\u009b2J'));
    expect(await json('webhooks', 'test', id)).toMatchObject({
      status_code: 200,
      error: null,
      response_body: 'fine \u001b[2J\u009b2J',
    });
    const { stdout } = await rms('webhooks', 'test', id);
    expect(stdout).toContain('fine \ufffd[2J\ufffd2J');
  });

  test('deliveries list prints the documented fields', async () => {
    const { id, json, deliver } = await setUp();
    const { events } = await deliver();
    const { data } = await json('deliveries', 'list', '--webhook', id, '--status', 'delivered');
    expect(data).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^dlv_/),
        event_id: events[0],
        event_type: 'resource.created',
        webhook_id: id,
        status: 'delivered',
        attempts: [{ at: expect.any(String), status_code: 200, error: null, duration_ms: expect.any(Number) }],
      }),
    ]);
    expect((await json('deliveries', 'list', '--status', 'failed')).data).toEqual([]);
  });

  test('more deliveries than --limit: the newest, and a note on stderr', async () => {
    const { json, rms, deliver } = await setUp();
    await deliver({ count: 3 });
    const { data } = await json('deliveries', 'list');
    const limited = await rms('deliveries', 'list', '--limit', '2', '--json');
    expect(JSON.parse(limited.stdout).data).toEqual(data.slice(0, 2));
    expect(limited.stderr).toContain('newest 2');
    expect(await json('deliveries', 'list', '--limit', '3')).toEqual({ data });
  });

  test('redeliver tries a failed delivery again, replay all of them; --dry-run only counts', async () => {
    const { workspaceId, id, json, deliver } = await setUp();
    await deliver({ count: 2, answer: 500 });
    const failed = (await json('deliveries', 'list', '--status', 'failed')).data as DeliveryDocument[];
    expect(failed.map(({ attempts }) => attempts.map((one) => one.status_code))).toEqual([
      [500, 500],
      [500, 500],
    ]);
    receiver.respondWith(200);
    const delivered = (count: number) =>
      waitUntil(async () => (await inStatus(workspaceId, DELIVERED)) === count, { what: `${count} to be delivered` });
    expect((await json('deliveries', 'redeliver', failed[0]?.id ?? '')).id).toBe(failed[0]?.id);
    await delivered(1);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since'];
    expect(await json(...replay, '1h', '--dry-run')).toEqual({ count: 1, dry_run: true });
    expect(await json(...replay, new Date(Date.now() + 60_000).toISOString())).toEqual({ count: 0, dry_run: false });
    expect(await json(...replay, '1h')).toEqual({ count: 1, dry_run: false });
    await delivered(2);
  });

  test('trace shows what one request caused, in the order of time', async () => {
    const { json, rms, deliver } = await setUp();
    const { events, requestId } = await deliver({ count: 5, answer: 500 });
    const traced = await json('trace', requestId);
    expect(traced.request_id).toBe(requestId);
    expect(traced.deliveries.map((one: DeliveryDocument) => one.event_id)).toEqual(events);
    const times = traced.timeline.map(({ at }: { at: string }) => at);
    expect(times).toHaveLength(15);
    expect(times).toEqual([...times].sort());
    expect((await rms('trace', requestId)).stdout).toContain('attempt 2 of');
    for (const unknown of ['req_other', '']) {
      expect(await rms('trace', unknown)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^rms: /),
      });
    }
  });

  test.each([
    ...['enable', 'disable', 'rotate-secret', 'test'].map((name) => ['webhooks', name, 'wh_none']),
    ['webhooks', 'retry-policy', 'wh_none', '--max-retries', '1', '--initial-delay', '1', '--max-delay', '1'],
    ['deliveries', 'redeliver', 'dlv_none'],
    ['deliveries', 'replay', '--webhook', 'wh_none', '--since', '1h'],
    ['deliveries', 'list', '--webhook', 'wh_none'],
  ])('an unknown id is refused in one line: %s %s %s', async (...args) => {
    const { workspace } = await services.workspaces.createWorkspace({ name: 'w' });
    const outcome = await services.rms(...args, '--workspace', workspace?.id ?? '', '--json');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/^rms: There is no \w+ "(wh|dlv)_none"\.\n$/i);
  });
});
