import { newId } from '@rms/base/ids';
import { makeSecret } from '@rms/base/signature';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { freePort, type ReceivedRequest, startReceiver, waitUntil } from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { type RunningRms, runRms, startServices, type TestServices } from './support.ts';

describe('rms listen', () => {
  let services: TestServices;
  const listening: RunningRms[] = [];
  const receivers: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    services = await startServices();
  });
  afterEach(async () => {
    for (const one of listening.splice(0)) await one.interrupt();
    for (const one of receivers.splice(0)) await one.close();
  });
  afterAll(() => services?.stop());

  const receive = async (port?: number) => {
    const receiver = await startReceiver(port === undefined ? {} : { port });
    receivers.push(receiver);
    return receiver;
  };
  /** Starts `rms listen` and resolves once it listens. */
  const listen = async (url: string, workspaceId: string, args: string[] = [], env: Record<string, string> = {}) => {
    const rms = services.start(['listen', '--forward-to', url, '--workspace', workspaceId, ...args], env);
    listening.push(rms);
    const outputOf = () => [...rms.stdout(), ...rms.stderr()];
    await waitUntil(() => outputOf().some((line) => line.includes('Signing secret: whsec_')), {
      what: 'rms listen to start',
    });
    return { ...rms, secret: /whsec_\S+/.exec(outputOf().join('\n'))?.[0] ?? '' };
  };
  /** Publishes events, one per request, and returns their IDs. */
  const publish = async (workspaceId: string, count: number) => {
    const ids = Array.from({ length: count }, () => newId('evt'));
    for (const id of ids) await services.publish(workspaceId, newId('req'), id);
    return ids;
  };
  const idsOf = (requests: readonly ReceivedRequest[]) => requests.map(({ headers }) => headers['webhook-id']);

  test('posts the same bytes and headers as a webhook delivery, signed with the secret that it prints', async () => {
    const workspaceId = await services.createWorkspace();
    const [own, subscribed] = [await receive(), await receive()];
    await services.webhooks.createWebhook({
      workspaceId,
      environment: Environment.SANDBOX,
      url: subscribed.url,
      events: ['*'],
    });
    const { secret, printed, interrupt } = await listen(own.url, workspaceId);
    const id = newId('evt');
    await services.publish(workspaceId, 'req_of_this_event', id);
    const forwarded = await own.waitFor(() => true, 'the event');
    const delivered = await subscribed.waitFor(() => true, 'the delivery');
    expect(forwarded.body).toEqual(delivered.body);
    // Signature, time and host differ, because each has its own secret, clock and port.
    const differs = ['host', 'connection', 'x-service-signature', 'webhook-signature', 'webhook-timestamp'];
    const others = ({ headers }: ReceivedRequest) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !differs.includes(name)));
    expect(Object.keys(forwarded.headers).sort()).toEqual(Object.keys(delivered.headers).sort());
    expect(others(forwarded)).toEqual(others(delivered));
    expect(others(forwarded)).toMatchObject({ 'webhook-id': id, 'x-request-id': 'req_of_this_event' });
    expect(
      new Webhook(secret).verify(forwarded.body.toString(), forwarded.headers as Record<string, string>),
    ).toMatchObject({
      id,
    });
    const [, , , line] = await printed(4);
    expect(line).toMatch(new RegExp(`^\\S+Z  resource\\.created +${id}  res_\\w+  200  \\d+ ms  #1$`));
    expect(await interrupt()).toBe(0);
  });

  test('--json prints one document per line; failures do not stop it, and every event is sent once, in order', async () => {
    const workspaceId = await services.createWorkspace();
    const port = await freePort();
    const secret = makeSecret();
    const rms = await listen(`http://127.0.0.1:${port}/hook?a=1`, workspaceId, ['--json'], {
      RMS_LISTEN_SECRET: secret,
    });
    expect(rms.secret).toBe(secret);
    const missed = await publish(workspaceId, 2);
    await rms.printed(2);
    const receiver = await receive(port);
    receiver.respondWith((_, response) => {
      if (receiver.requests.length === 1) response.writeHead(302, { location: '/elsewhere' }).end();
      else if (receiver.requests.length === 2) response.destroy();
      else response.writeHead(200).end('x'.repeat(1_000_000));
    });
    const there = await publish(workspaceId, 3);
    const documents = (await rms.printed(5)).map((line) => JSON.parse(line));
    const common = {
      at: expect.any(String),
      event_type: 'resource.created',
      resource_id: expect.stringMatching(/^res_/),
      request_id: expect.stringMatching(/^req_/),
      duration_ms: expect.any(Number),
    };
    const responses = [
      { status_code: null, error: 'connect: connection refused' },
      { status_code: null, error: 'connect: connection refused' },
      { status_code: 302, error: 'status: 302' },
      { status_code: null, error: 'connection: ECONNRESET' },
      { status_code: 200, error: null },
    ];
    expect(documents).toEqual(
      [...missed, ...there].map((event_id, i) => ({ ...common, event_id, sequence: i + 1, ...responses[i] })),
    );
    expect(idsOf(receiver.requests)).toEqual(there);
    expect(receiver.requests.every(({ path }) => path === '/hook?a=1')).toBe(true);
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toHaveLength(5);
  });

  test('--events filters by type, --environment selects the environment, --after starts earlier', async () => {
    const workspaceId = await services.createWorkspace();
    const receiver = await receive();
    const types = ['created', 'updated', 'deleted', 'status_changed'].map((type) => `resource.${type}`);
    const events = types.map((type) => ({ id: newId('evt'), type }));
    await services.publish(workspaceId, newId('req'), ...events);
    const some = ['--after', '1', '--events', 'resource.created,resource.deleted', '--json'];
    const rms = await listen(receiver.url, workspaceId, some);
    const later = newId('evt');
    const live = await listen(receiver.url, workspaceId, ['--environment', 'live', '--json']);
    await services.publish(workspaceId, newId('req'), later);
    const sequences = (await rms.printed(2)).map((line) => JSON.parse(line).sequence);
    expect(sequences).toEqual([3, 5]);
    expect(idsOf(receiver.requests)).toEqual([events[2]?.id, later]);
    expect(await live.interrupt()).toBe(0);
    expect(live.stdout()).toEqual([]);
  });

  test('it names its environment and how to hear the other, and notes the first event there', async () => {
    const workspaceId = await services.createWorkspace();
    const receiver = await receive();
    const live = await listen(receiver.url, workspaceId, ['--environment', 'live']);
    const [forwarding, other] = live.stdout();
    expect(forwarding).toBe(`Forwarding live events of ${workspaceId} after sequence 0 to ${receiver.url}`);
    expect(other).toBe('For sandbox events, add --environment sandbox');
    const sandboxNote =
      'rms: resource.created in sandbox, which is not forwarded; add --environment sandbox to forward sandbox events';
    // The first events may precede the first poll.
    await waitUntil(
      async () => {
        await publish(workspaceId, 1);
        return live.stderr().includes(sandboxNote);
      },
      { what: 'the note about sandbox events' },
    );
    expect(receiver.requests).toEqual([]);
    const byDefault = await listen(receiver.url, workspaceId);
    expect(byDefault.stdout()[0]).toMatch(/^Forwarding sandbox events/);
    expect(byDefault.stdout()[1]).toBe('For live events, add --environment live');
    await publish(workspaceId, 1);
    await receiver.waitFor(() => true, 'the event');
    expect(live.stderr()).toEqual([sandboxNote]);
  });

  test('an erased event is printed but not sent', async () => {
    const workspaceId = await services.createWorkspace();
    const receiver = await receive();
    const [erased = '', kept = ''] = await publish(workspaceId, 2);
    await services.erase(erased);
    const rms = await listen(receiver.url, workspaceId, ['--json', '--after', '0']);
    const documents = (await rms.printed(2)).map((line) => JSON.parse(line));
    expect(documents).toMatchObject([
      { event_id: erased, resource_id: null, status_code: null, error: 'erased: not sent' },
      { event_id: kept, status_code: 200, error: null },
    ]);
    expect(idsOf(receiver.requests)).toEqual([kept]);
  });

  test('at the limit of 50 watchers it prints one note and resumes when a slot is free; no event is lost', async () => {
    const workspaceId = await services.createWorkspace();
    const receiver = await receive();
    const [known = ''] = await publish(workspaceId, 1);
    const tenant = { workspaceId, environment: Environment.SANDBOX };
    const watches = Array.from({ length: 50 }, () =>
      services.feed.watchEvents({ ...tenant, after: 0n })[Symbol.asyncIterator](),
    );
    for (const one of watches) expect((await one.next()).value?.event?.id).toBe(known);
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    const warnings = () => rms.stderr().filter((line) => line.includes('50 watchers'));
    await waitUntil(() => warnings().length > 0, { what: 'the note' });
    const [missed = ''] = await publish(workspaceId, 1);
    for (const one of watches) await one.return?.();
    await rms.printed(1);
    expect(idsOf(receiver.requests)).toEqual([missed]);
    expect(warnings()).toEqual([expect.stringMatching(/Retrying; the next event is after 1\.$/)]);
  });

  test('after a restart of the service with the target down, no event is lost or repeated, and one line reports it', async () => {
    const workspaceId = await services.createWorkspace();
    const port = await freePort();
    let receiver = await receive(port);
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    const created: string[] = [];
    const make = async (count: number) => void created.push(...(await publish(workspaceId, count)));
    await make(3);
    await rms.printed(3);
    const arrived = [...idsOf(receiver.requests)];

    await receiver.close();
    await make(2);
    await rms.printed(5);
    receiver = await receive(port);

    const trying = () => rms.stderr().filter((line) => line.includes('Retrying'));
    await services.restartWebhooks(async () => {
      await make(4);
      await waitUntil(() => trying().length > 0, { what: 'the note that the service is unreachable' });
    });
    const writing = make(5);
    await rms.printed(14);
    await writing;
    await services.restartWebhooks(() => make(150));
    const documents = (await rms.printed(164)).map((line) => JSON.parse(line));
    expect(documents.map(({ event_id }) => event_id)).toEqual(created);
    expect(documents.map(({ sequence }) => sequence)).toEqual(created.map((_, i) => i + 1));
    expect([...arrived, ...idsOf(receiver.requests)]).toEqual([...created.slice(0, 3), ...created.slice(5)]);
    expect(trying()[0]).toContain('The service is unreachable');
    expect(trying().length).toBeLessThanOrEqual(2);
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toHaveLength(164);
  });

  test('Ctrl-C stops it during a request', async () => {
    const workspaceId = await services.createWorkspace();
    const receiver = await receive();
    receiver.respondWith(() => {});
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    await publish(workspaceId, 1);
    await receiver.waitFor(() => true, 'the event');
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toEqual([]);
  });

  test.each([
    [['--forward-to', 'localhost:3000/hook'], 2, /Expected an http:\/\/ or https:\/\/ URL/],
    [['--forward-to', 'ftp://localhost/hook'], 2, /Expected an http:\/\/ or https:\/\/ URL/],
    [['--forward-to', 'http://name:word@localhost/'], 2, /without credentials/],
    [['--events', 'resource.made'], 2, /list of: resource\.created/],
    [['--after', '-1'], 2, /the sequence number/],
    [['--environment', 'moon'], 2, /live, sandbox/],
    [['--secret', 'whsec_short'], 2, /24 to 64 bytes/],
    [['--after', '7'], 1, /after is beyond the newest event, whose sequence is 0\.\n$/],
    [['--workspace', 'ws_none'], 1, /^rms: There is no workspace "ws_none"\.\n$/],
  ])('%j fails', async (args, code, message) => {
    const url = args[0] === '--forward-to' ? [] : ['--forward-to', 'http://127.0.0.1:9/'];
    const workspace = args[0] === '--workspace' ? [] : ['--workspace', await services.createWorkspace()];
    const outcome = await services.rms('listen', ...url, ...workspace, ...args);
    expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
  });

  test('without a service it fails with one line', async () => {
    const args = ['listen', '--forward-to', 'http://127.0.0.1:9/', '--workspace', await services.createWorkspace()];
    const env = { AUTH_ADDRESS: services.addresses.auth, WEBHOOKS_ADDRESS: '127.0.0.1:1' };
    expect(await runRms(args, env)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rms: The service is unreachable\. [^\n]*\n$/),
    });
  });
});
