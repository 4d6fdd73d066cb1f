import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Delivery } from '@rms/api';
import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { makeCertificates, type Receiver, startReceiver } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { startServices, type TestServices } from './support.ts';

describe('rms webhooks and trace', () => {
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

  const setUp = () => subscribe(services, receiver);
  /** Queues deliveries that have failed once, and are attempted again in an hour. */
  const queue = async (
    { workspaceId, setRetries, untilInStatus }: Awaited<ReturnType<typeof setUp>>,
    count: number,
  ) => {
    receiver.respondWith(500);
    await setRetries(5, 3_600_000);
    await services.publish(workspaceId, newId('req'), ...Array.from({ length: count }, () => newId('evt')));
    await untilInStatus(DeliveryStatus.RETRYING, count);
  };

  test('list shows the webhooks of both environments', async () => {
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
      { id, environment: 'sandbox', url: receiver.url, events: ['*'], status: 'active' },
    ]);
    expect(JSON.stringify(data)).not.toContain('whsec_');
    expect((await rms('webhooks', 'list')).stdout).toContain(receiver.url);
  });

  test('list and show print the health of the endpoint', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'list')).data[0].health).toMatchObject({ failing_since: null, paused_since: null });
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^circuit +closed/m);
    await services.openCircuit(id);
    const { health } = await json('webhooks', 'show', id);
    expect(health).toMatchObject({ state: 'paused', pending: 0, next_attempt_at: null, last_hour: { delivered: 0 } });
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^circuit +open since 2/m);
    expect((await rms('webhooks', 'list')).stdout).toContain(`circuit open since ${health.paused_since}`);
  });

  test('disable and delete name the pending deliveries that fail, before they fail', async () => {
    const subscription = await setUp();
    const { id, json, rms } = subscription;
    await queue(subscription, 2);
    const disabled = await rms('webhooks', 'disable', id);
    expect(disabled.stdout).toBe(`${id} is disabled\n`);
    expect(disabled.stderr).toContain('Failing now: 2 pending deliveries (webhook_disabled).');
    expect((await json('deliveries', 'list', '--webhook', id)).data).toMatchObject([
      { status: 'failed', end_reason: 'webhook_disabled' },
      { status: 'failed', end_reason: 'webhook_disabled' },
    ]);
    const deleted = await rms('webhooks', 'delete', id);
    expect(deleted.stderr).toContain('Failing now: no pending deliveries (webhook_deleted).');
    expect(await rms('webhooks', 'show', id)).toMatchObject({ code: 1 });
  });

  test('create prints the secret once; cancel ends a delivery', async () => {
    const subscription = await setUp();
    const { id, json, rms } = subscription;
    const options = ['--environment', 'live', '--url', receiver.url, '--events', 'resource.created', '--ordered'];
    const created = await json('webhooks', 'create', ...options);
    expect(created).toMatchObject({ environment: 'live', ordered: true, secret: expect.stringMatching(/^whsec_/) });
    expect(await json('webhooks', 'show', created.id)).not.toHaveProperty('secret');
    await queue(subscription, 1);
    const [{ id: delivery }] = (await json('deliveries', 'list', '--webhook', id)).data;
    expect(await json('deliveries', 'cancel', delivery)).toMatchObject({ status: 'canceled', end_reason: 'canceled' });
    expect(await rms('deliveries', 'cancel', delivery)).toMatchObject({ code: 1 });
  });

  test('retry-policy accepts fractions of seconds', async () => {
    const { id, json } = await setUp();
    const seconds = ['--max-retries', '7', '--initial-delay', '1.005', '--max-delay', '4.35'];
    expect((await json('webhooks', 'retry-policy', id, ...seconds)).retry_policy).toEqual({
      max_retries: 7,
      initial_delay: 1.005,
      max_delay: 4.35,
    });
  });

  test('retry-policy accepts explicit delays instead of the three numbers', async () => {
    const { id, json, rms } = await setUp();
    const set = await json('webhooks', 'retry-policy', id, '--delays', '5s,1m,30m');
    expect(set.retry_policy).toMatchObject({ delays: [5, 60, 1_800] });
    expect((await rms('webhooks', 'list')).stdout).toContain('after 5s, 60s, 1800s');
    for (const [args, message] of [
      [['--delays', '5s', '--max-retries', '3'], /cannot be used with/],
      [['--delays', '5s,soon'], /such as 90s/],
      [['--max-retries', '3', '--initial-delay', '1'], /--max-delay, or --delays/],
      [[], /--max-delay, or --delays/],
    ] as const) {
      expect(await rms('webhooks', 'retry-policy', id, ...args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(message),
      });
    }
    const long = await rms('webhooks', 'retry-policy', id, '--delays', '8d');
    expect(long).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must each be from 0.01 seconds to 7 days'),
    });
    expect((await json('webhooks', 'show', id)).retry_policy).toEqual(set.retry_policy);
    const seconds = ['--max-retries', '2', '--initial-delay', '1', '--max-delay', '4'];
    expect((await json('webhooks', 'retry-policy', id, ...seconds)).retry_policy.delays).toBeUndefined();
  });

  test('rate-limit sets the given limits and keeps the others', async () => {
    const { id, json, rms } = await setUp();
    const set = (...args: string[]) => json('webhooks', 'rate-limit', id, ...args);
    expect((await json('webhooks', 'show', id)).rate_limit).toEqual({ requests_per_second: null, max_concurrency: 32 });
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^rate limit +32 concurrent$/m);
    const limited = { requests_per_second: 0.5, max_concurrency: 32 };
    expect((await set('--requests-per-second', '0.5')).rate_limit).toEqual(limited);
    expect((await set('--max-concurrency', '4')).rate_limit).toEqual({ ...limited, max_concurrency: 4 });
    expect((await json('webhooks', 'list')).data[0].rate_limit).toEqual({ ...limited, max_concurrency: 4 });
    for (const name of ['show', 'list']) {
      const args = name === 'show' ? [id] : [];
      expect((await rms('webhooks', name, ...args)).stdout).toContain('0.5 per second, 4 concurrent');
    }
    const { stdout } = await rms('webhooks', 'rate-limit', id, '--requests-per-second', 'none');
    expect(stdout).toBe(`Rate limit of ${id}: 4 concurrent\n`);
    for (const [code, message, ...args] of [
      [2, /give --max-concurrency, --requests-per-second, or both/],
      [2, /greater than 0, or none/, '--requests-per-second', '0'],
      [2, /greater than 0, or none/, '--requests-per-second', '1e3'],
      [2, /greater than 0/, '--max-concurrency', '0'],
      [1, /must be 1 to 1000/, '--max-concurrency', '1001'],
      [1, /must be 0.01 to 10000/, '--requests-per-second', '0.001'],
    ] as const) {
      expect(await rms('webhooks', 'rate-limit', id, ...args)).toMatchObject({
        code,
        stdout: '',
        stderr: expect.stringMatching(message),
      });
    }
    expect((await json('webhooks', 'show', id)).rate_limit).toEqual({ requests_per_second: null, max_concurrency: 4 });
  });

  test('ordered turns ordered delivery on and off', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'show', id)).ordered).toBe(false);
    expect((await json('webhooks', 'ordered', id, 'on')).ordered).toBe(true);
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^ordered +yes/m);
    expect((await rms('webhooks', 'ordered', id, 'off')).stdout).toBe(`${id} is not ordered\n`);
    expect(await rms('webhooks', 'ordered', id, 'maybe')).toMatchObject({ code: 2, stdout: '' });
  });

  test('client-certificate sets a certificate from files, shows it without its key, and removes it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-cli-certificates-'));
    try {
      const { certFile: cert, keyFile: key } = makeCertificates(folder).issue('caller');
      const { id, json, rms } = await setUp();
      const set = await json('webhooks', 'client-certificate', id, '--cert', cert, '--key', key);
      const { fingerprint256 } = new X509Certificate(readFileSync(cert));
      expect(set.client_certificate).toMatchObject({ fingerprint_sha256: fingerprint256 });
      expect(JSON.stringify(set)).not.toContain('PRIVATE KEY');
      expect((await rms('webhooks', 'show', id)).stdout).toContain(set.client_certificate.expires_at);
      expect((await json('webhooks', 'list')).data[0].client_certificate).toEqual(set.client_certificate);

      const wrong = async (code: number, message: RegExp, ...args: string[]) =>
        expect(await rms('webhooks', 'client-certificate', id, ...args)).toMatchObject({
          code,
          stdout: '',
          stderr: expect.stringMatching(message),
        });
      const empty = join(folder, 'empty');
      writeFileSync(empty, '\n');
      await wrong(1, /must contain a certificate and the matching private key/, '--cert', key, '--key', cert);
      await wrong(1, /empty is empty/, '--cert', empty, '--key', key);
      await wrong(1, /none cannot be read \(ENOENT\)/, '--cert', join(folder, 'none'), '--key', key);
      await wrong(2, /--cert and --key, or --remove/, '--cert', cert);
      await wrong(2, /--cert and --key, or --remove/);
      await wrong(2, /cannot be used with/, '--remove', '--key', key);
      expect((await json('webhooks', 'show', id)).client_certificate).toEqual(set.client_certificate);
      expect((await json('webhooks', 'client-certificate', id, '--remove')).client_certificate).toBe(null);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('disable and enable; rotate-secret prints the new secret and the end of the overlap', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'disable', id)).status).toBe('disabled');
    expect((await json('webhooks', 'list')).data).toMatchObject([
      { id, status: 'disabled', disabled_reason: 'manual' },
    ]);
    expect((await rms('webhooks', 'list')).stdout).toContain('disabled (manual)');
    expect((await json('webhooks', 'enable', id)).status).toBe('active');
    expect((await json('webhooks', 'pause', id)).status).toBe('paused');
    expect(await rms('webhooks', 'resume', id)).toMatchObject({ code: 0, stdout: `${id} is active\n` });
    const immediately = ['webhooks', 'rotate-secret', id, '--overlap', '0s'];
    const secrets = [await json(...immediately), await json(...immediately)];
    const rotated = { id, secret: expect.stringMatching(/^whsec_/), previous_secret_expires_at: null };
    expect(secrets).toEqual([rotated, rotated]);
    expect(secrets[0].secret).not.toBe(secrets[1].secret);
    const overlapping = await json('webhooks', 'rotate-secret', id);
    const expiresAt = overlapping.previous_secret_expires_at;
    const shown = await json('webhooks', 'show', id);
    expect(shown.previous_secret_expires_at).toBe(expiresAt);
    // Both times are of PostgreSQL's clock.
    expect(Date.parse(expiresAt) - Date.parse(shown.updated_at)).toBe(86_400_000);
    const { stdout } = await rms('webhooks', 'show', id);
    expect(stdout).toContain(expiresAt);
    expect(stdout).not.toContain('whsec_');
    expect(await rms('webhooks', 'rotate-secret', id, '--overlap', '8d')).toMatchObject({ code: 1, stdout: '' });
  });

  test('test prints the response of the endpoint without its control characters', async () => {
    const { id, json, rms } = await setUp();
    receiver.respondWith((_, response) => void response.writeHead(200, { 'x-own': 'a' }).end('fine \u001b[2J\u009b2J'));
    expect(await json('webhooks', 'test', id)).toMatchObject({
      error: null,
      duration_ms: expect.any(Number),
      timing: { first_byte_ms: expect.any(Number) },
      remote_address: '127.0.0.1',
      request: { url: receiver.url, headers: { 'content-type': 'application/json' } },
      response: { status: 200, headers: { 'x-own': 'a' }, body: 'fine \u001b[2J\u009b2J' },
    });
    const { stdout } = await rms('webhooks', 'test', id, '--event-type', 'resource.deleted');
    const { body } = receiver.requests.at(-1) ?? {};
    expect(`${body}`).toContain('"type":"resource.deleted"');
    expect(stdout).toContain(`POST ${receiver.url}\n${body}\n\n`);
    expect(stdout).toMatch(/^200 after \d+ ms, from 127\.0\.0\.1 \(DNS /m);
    expect(stdout).toContain('< x-own: a\n');
    expect(stdout).toContain('fine \ufffd[2J\ufffd2J');
  });

  test('a test is in the delivery log, alone or left out with --test and --no-test', async () => {
    const { id, json, rms } = await setUp();
    const { delivery_id: deliveryId, request } = await json('webhooks', 'test', id);
    const listed = async (option: string) =>
      (await json('deliveries', 'list', '--webhook', id, option)).data.map(({ id: one }: { id: string }) => one);
    expect(await listed('--test')).toEqual([deliveryId]);
    expect(await listed('--no-test')).not.toContain(deliveryId);
    expect(await json('deliveries', 'show', deliveryId)).toMatchObject({
      origin: 'test',
      request_body: request.body,
    });
    expect(await rms('deliveries', 'redeliver', deliveryId)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('A test delivery cannot be redelivered.'),
    });
  });

  test('test fails with the response if the endpoint does not respond with 200', async () => {
    const { id, rms } = await setUp();
    receiver.respondWith((_, response) => void response.writeHead(503).end('out of order'));
    const refused = await rms('webhooks', 'test', id);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^rms: The endpoint did not accept the event: .*503/),
    });
    expect(refused.stdout).toContain('out of order');
    const { code, stdout } = await rms('webhooks', 'test', id, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ data: { response: { status: 503, body: 'out of order' } } });
    receiver.respondWith((_, response) => void response.destroy());
    expect(await rms('webhooks', 'test', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('connection') });
  });

  test('trace lists the steps of a request in order of time', async () => {
    const { workspaceId, json, rms, deliver, disable } = await setUp();
    const { events, requestId } = await deliver({ count: 5, response: 500 });
    const traced = await json('trace', requestId);
    expect(traced.request_id).toBe(requestId);
    expect(traced.deliveries.map((one: Delivery) => one.event_id).sort()).toEqual([...events].sort());
    const times = traced.steps.map(({ at }: { at: string }) => at);
    // Each event is committed, consumed and delivered, with two attempts. Operational events report the failures.
    expect(traced.steps.filter((one: { event_id: string }) => events.includes(one.event_id))).toHaveLength(25);
    expect(times).toEqual([...times].sort());
    expect((await rms('trace', requestId)).stdout).toContain('attempt 2 of');
    await disable();
    const skipped = newId('req');
    await services.publish(workspaceId, skipped, newId('evt'));
    const steps = (await json('trace', skipped)).steps.map(({ text }: { text: string }) => text);
    expect(steps.at(-1)).toMatch(/skipped because the webhook was disabled$/);
    expect(await rms('trace', 'req_other')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rms: /),
    });
  });

  test.each([
    ...['show', 'pause', 'resume', 'enable', 'disable', 'rotate-secret', 'test'].map((name) => [
      'webhooks',
      name,
      'wh_none',
    ]),
    ['webhooks', 'retry-policy', 'wh_none', '--max-retries', '1', '--initial-delay', '1', '--max-delay', '1'],
    ['webhooks', 'retry-policy', 'wh_none', '--delays', '1s'],
    ['webhooks', 'rate-limit', 'wh_none', '--max-concurrency', '1'],
    ['webhooks', 'ordered', 'wh_none', 'on'],
    ['webhooks', 'client-certificate', 'wh_none', '--remove'],
    ['deliveries', 'show', 'dlv_none'],
    ['deliveries', 'redeliver', 'dlv_none'],
    ['deliveries', 'replay-status', 'rpl_none'],
    ['deliveries', 'replay-cancel', 'rpl_none'],
    ['deliveries', 'replay', '--webhook', 'wh_none', '--since', '1h'],
  ])('an unknown ID fails with one line: %s %s %s', async (...args) => {
    const outcome = await services.rms(...args, '--workspace', await services.createWorkspace(), '--json');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/^rms: There is no \w+ "(wh|dlv|rpl)_none"\.\n$/i);
  });

  test('a filter by a text that is not an ID fails with the form of an ID', async () => {
    const workspace = ['--workspace', await services.createWorkspace()];
    expect(await services.rms('deliveries', 'list', '--webhook', 'foo', ...workspace)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^rms: .*webhook_id must be an ID: "wh_" and 26 characters, such as wh_\w{26}\.\n$/,
      ),
    });
    const unknown = newId('wh');
    expect(await services.rms('deliveries', 'list', '--webhook', unknown, ...workspace)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(unknown),
    });
  });
});
