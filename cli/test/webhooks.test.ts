import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { makeCertificates, type Receiver, startReceiver } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { startServices, type TestServices } from './support.ts';

interface DeliveryDocument {
  event_id: string;
}

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

  test('list and show say how the endpoint fares', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'list')).data[0].health).toMatchObject({ failing_since: null, open_circuit: null });
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^circuit +closed/m);
    await services.openCircuit(id);
    const { health } = await json('webhooks', 'show', id);
    expect(health).toMatchObject({ under_way: 0, open_circuit: { next_probe_at: null }, last_hour: { delivered: 0 } });
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^circuit +open since 2/m);
    expect((await rms('webhooks', 'list')).stdout).toContain(`circuit open since ${health.open_circuit.since}`);
  });

  test('retry-policy takes seconds with fractions', async () => {
    const { id, json } = await setUp();
    const seconds = ['--max-retries', '7', '--initial-delay', '1.005', '--max-delay', '4.35'];
    expect((await json('webhooks', 'retry-policy', id, ...seconds)).retry_policy).toEqual({
      max_retries: 7,
      initial_delay_seconds: 1.005,
      max_delay_seconds: 4.35,
      delays_seconds: null,
    });
  });

  test('retry-policy takes the delays themselves, instead of the three numbers', async () => {
    const { id, json, rms } = await setUp();
    const set = await json('webhooks', 'retry-policy', id, '--delays', '5s,1m,30m');
    expect(set.retry_policy).toMatchObject({ max_retries: 3, delays_seconds: [5, 60, 1_800] });
    expect((await rms('webhooks', 'list')).stdout).toContain('after 5s, 60s, 1800s');
    for (const [args, message] of [
      [['--delays', '5s', '--max-retries', '3'], /cannot be used with/],
      [['--delays', '5s,soon'], /say 90s/],
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
    expect(long).toMatchObject({ code: 1, stderr: expect.stringContaining('must each be 0.01 seconds to 7 days') });
    expect((await json('webhooks', 'show', id)).retry_policy).toEqual(set.retry_policy);
    const seconds = ['--max-retries', '2', '--initial-delay', '1', '--max-delay', '4'];
    expect((await json('webhooks', 'retry-policy', id, ...seconds)).retry_policy.delays_seconds).toBe(null);
  });

  test('ordered is switched on and off', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'show', id)).ordered).toBe(false);
    expect((await json('webhooks', 'ordered', id, 'on')).ordered).toBe(true);
    expect((await rms('webhooks', 'show', id)).stdout).toMatch(/^ordered +yes/m);
    expect((await rms('webhooks', 'ordered', id, 'off')).stdout).toBe(`${id} is not ordered\n`);
    expect(await rms('webhooks', 'ordered', id, 'maybe')).toMatchObject({ code: 2, stdout: '' });
  });

  test('client-certificate is set from files, shown without its key, and removed', async () => {
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
      await wrong(1, /must be a certificate and its private key/, '--cert', key, '--key', cert);
      await wrong(1, /empty is empty/, '--cert', empty, '--key', key);
      await wrong(1, /no such file/, '--cert', join(folder, 'none'), '--key', key);
      await wrong(2, /--cert and --key, or --remove/, '--cert', cert);
      await wrong(2, /--cert and --key, or --remove/);
      await wrong(2, /cannot be used with/, '--remove', '--key', key);
      expect((await json('webhooks', 'show', id)).client_certificate).toEqual(set.client_certificate);
      expect((await json('webhooks', 'client-certificate', id, '--remove')).client_certificate).toBe(null);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('disable and enable; rotate-secret shows the new secret, and for how long the one before signs', async () => {
    const { id, json, rms } = await setUp();
    expect((await json('webhooks', 'disable', id)).status).toBe('disabled');
    expect((await json('webhooks', 'list')).data).toMatchObject([{ id, status: 'disabled', disable_reason: 'manual' }]);
    expect((await rms('webhooks', 'list')).stdout).toContain('disabled (manual)');
    expect((await json('webhooks', 'enable', id)).status).toBe('active');
    const secrets = [await json('webhooks', 'rotate-secret', id), await json('webhooks', 'rotate-secret', id)];
    const rotated = { id, secret: expect.stringMatching(/^whsec_/), previous_secret_expires_at: null };
    expect(secrets).toEqual([rotated, rotated]);
    expect(secrets[0].secret).not.toBe(secrets[1].secret);
    const before = Date.now();
    const overlapping = await json('webhooks', 'rotate-secret', id, '--overlap', '24h');
    const expiresAt = overlapping.previous_secret_expires_at;
    expect(Date.parse(expiresAt) - before).toBeGreaterThanOrEqual(86_400_000);
    expect((await json('webhooks', 'show', id)).previous_secret_expires_at).toBe(expiresAt);
    const { stdout } = await rms('webhooks', 'show', id);
    expect(stdout).toContain(expiresAt);
    expect(stdout).not.toContain('whsec_');
    expect(await rms('webhooks', 'rotate-secret', id, '--overlap', '8d')).toMatchObject({ code: 1, stdout: '' });
  });

  test('test shows what the endpoint answers, and the answer does not steer the terminal', async () => {
    const { id, json, rms } = await setUp();
    receiver.respondWith((_, response) => void response.writeHead(200, { 'x-own': 'a' }).end('fine \u001b[2J\u009b2J'));
    expect(await json('webhooks', 'test', id)).toMatchObject({
      status_code: 200,
      error: null,
      duration_ms: expect.any(Number),
      first_byte_ms: expect.any(Number),
      address: '127.0.0.1',
      request_headers: expect.arrayContaining([{ name: 'content-type', value: 'application/json' }]),
      response_headers: expect.arrayContaining([{ name: 'x-own', value: 'a' }]),
      response_body: 'fine \u001b[2J\u009b2J',
    });
    const { stdout } = await rms('webhooks', 'test', id);
    expect(stdout).toMatch(/^200, after \d+ ms, from 127\.0\.0\.1 \(DNS /);
    expect(stdout).toContain('< x-own: a\n');
    expect(stdout).toContain('fine \ufffd[2J\ufffd2J');
  });

  test('trace shows what one request caused, in the order of time', async () => {
    const { workspaceId, id, json, rms, deliver } = await setUp();
    const { events, requestId } = await deliver({ count: 5, answer: 500 });
    const traced = await json('trace', requestId);
    expect(traced.request_id).toBe(requestId);
    expect(traced.deliveries.map((one: DeliveryDocument) => one.event_id)).toEqual(events);
    const times = traced.timeline.map(({ at }: { at: string }) => at);
    // Each event is committed, read and delivered, and its delivery attempted twice.
    expect(times).toHaveLength(25);
    expect(times).toEqual([...times].sort());
    expect((await rms('trace', requestId)).stdout).toContain('attempt 2 of');
    await json('webhooks', 'disable', id);
    const skipped = newId('req');
    await services.publish(workspaceId, skipped, newId('evt'));
    const timeline = (await json('trace', skipped)).timeline.map(({ what }: { what: string }) => what);
    expect(timeline.at(-1)).toMatch(/skipped, the webhook was disabled$/);
    for (const unknown of ['req_other', '']) {
      expect(await rms('trace', unknown)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^rms: /),
      });
    }
  });

  test.each([
    ...['show', 'enable', 'disable', 'rotate-secret', 'test'].map((name) => ['webhooks', name, 'wh_none']),
    ['webhooks', 'retry-policy', 'wh_none', '--max-retries', '1', '--initial-delay', '1', '--max-delay', '1'],
    ['webhooks', 'retry-policy', 'wh_none', '--delays', '1s'],
    ['webhooks', 'ordered', 'wh_none', 'on'],
    ['webhooks', 'client-certificate', 'wh_none', '--remove'],
    ['deliveries', 'show', 'dlv_none'],
    ['deliveries', 'redeliver', 'dlv_none'],
    ['deliveries', 'replay-status', 'rpl_none'],
    ['deliveries', 'replay-cancel', 'rpl_none'],
    ['deliveries', 'replay', '--webhook', 'wh_none', '--since', '1h'],
    ['deliveries', 'list', '--webhook', 'wh_none'],
  ])('an unknown id is refused in one line: %s %s %s', async (...args) => {
    const { workspace } = await services.workspaces.createWorkspace({ name: 'w' });
    const outcome = await services.rms(...args, '--workspace', workspace?.id ?? '', '--json');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/^rms: There is no \w+ "(wh|dlv|rpl)_none"\.\n$/i);
  });
});
