import { newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { makeSecret } from '@rms/signature';
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

  const newWorkspace = async () => (await services.workspaces.createWorkspace({ name: 'w' })).workspace?.id ?? '';
  const receive = async (port?: number) => {
    const receiver = await startReceiver(port === undefined ? {} : { port });
    receivers.push(receiver);
    return receiver;
  };
  /** Resolves once it says that it listens. */
  const listen = async (url: string, workspaceId: string, args: string[] = [], env: Record<string, string> = {}) => {
    const rms = services.start(['listen', '--forward-to', url, '--workspace', workspaceId, ...args], env);
    listening.push(rms);
    const said = () => [...rms.stdout(), ...rms.stderr()];
    await waitUntil(() => said().some((line) => line.includes('signed with whsec_')), { what: 'it to listen' });
    return { ...rms, secret: /whsec_\S+/.exec(said().join('\n'))?.[0] ?? '' };
  };
  /** Publishes events, one request each, and returns their ids. */
  const publish = async (workspaceId: string, count: number) => {
    const ids = Array.from({ length: count }, () => newId('evt'));
    for (const id of ids) await services.publish(workspaceId, newId('req'), id);
    return ids;
  };
  const idsOf = (requests: readonly ReceivedRequest[]) => requests.map(({ headers }) => headers['webhook-id']);

  test('posts what a webhook gets: the same bytes, the same headers, signed with the secret that it shows', async () => {
    const workspaceId = await newWorkspace();
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
    const mine = await own.waitFor(() => true, 'the event');
    const theirs = await subscribed.waitFor(() => true, 'the delivery');
    expect(mine.body).toEqual(theirs.body);
    // Each signs with its own secret at its own time, and knows its receiver by its own port.
    const differs = ['host', 'connection', 'x-service-signature', 'webhook-signature', 'webhook-timestamp'];
    const others = ({ headers }: ReceivedRequest) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !differs.includes(name)));
    expect(Object.keys(mine.headers).sort()).toEqual(Object.keys(theirs.headers).sort());
    expect(others(mine)).toEqual(others(theirs));
    expect(others(mine)).toMatchObject({ 'webhook-id': id, 'x-request-id': 'req_of_this_event' });
    expect(new Webhook(secret).verify(mine.body.toString(), mine.headers as Record<string, string>)).toMatchObject({
      id,
    });
    const [, , line] = await printed(3);
    expect(line).toMatch(new RegExp(`^\\S+Z  resource\\.created +${id}  res_\\w+  200  \\d+ ms  #1$`));
    expect(await interrupt()).toBe(0);
  });

  test('--json prints one document a line; failures do not stop it, and every event is sent once, in order', async () => {
    const workspaceId = await newWorkspace();
    const port = await freePort();
    const secret = makeSecret();
    const rms = await listen(`http://127.0.0.1:${port}/hook?a=1`, workspaceId, ['--json'], {
      RMS_LISTEN_SECRET: secret,
    });
    expect(rms.secret).toBe(secret);
    const away = await publish(workspaceId, 2);
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
    const answers = [
      { status_code: null, error: 'connect: connection refused' },
      { status_code: null, error: 'connect: connection refused' },
      { status_code: 302, error: 'status: 302' },
      { status_code: null, error: 'connection: ECONNRESET' },
      { status_code: 200, error: null },
    ];
    expect(documents).toEqual(
      [...away, ...there].map((event_id, i) => ({ ...common, event_id, sequence: i + 1, ...answers[i] })),
    );
    expect(idsOf(receiver.requests)).toEqual(there);
    expect(receiver.requests.every(({ path }) => path === '/hook?a=1')).toBe(true);
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toHaveLength(5);
  });

  test('--events takes some types, --environment the others, --after begins earlier', async () => {
    const workspaceId = await newWorkspace();
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

  test('an event whose body is erased is shown, and not sent', async () => {
    const workspaceId = await newWorkspace();
    const receiver = await receive();
    const [erased = '', kept = ''] = await publish(workspaceId, 2);
    await services.erase(erased);
    const rms = await listen(receiver.url, workspaceId, ['--json', '--after', '0']);
    const documents = (await rms.printed(2)).map((line) => JSON.parse(line));
    expect(documents).toMatchObject([
      { event_id: erased, resource_id: null, status_code: null, error: 'erased: it is not sent' },
      { event_id: kept, status_code: 200, error: null },
    ]);
    expect(idsOf(receiver.requests)).toEqual([kept]);
  });

  test('where 50 watch already it says so once, and goes on when there is room; no event is lost', async () => {
    const workspaceId = await newWorkspace();
    const receiver = await receive();
    const [known = ''] = await publish(workspaceId, 1);
    const tenant = { workspaceId, environment: Environment.SANDBOX };
    const watches = Array.from({ length: 50 }, () =>
      services.feed.watchEvents({ ...tenant, after: 0n })[Symbol.asyncIterator](),
    );
    for (const one of watches) expect((await one.next()).value?.event?.id).toBe(known);
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    const told = () => rms.stderr().filter((line) => line.includes('50 watchers'));
    await waitUntil(() => told().length > 0, { what: 'it to say why' });
    const [missed = ''] = await publish(workspaceId, 1);
    for (const one of watches) await one.return?.();
    await rms.printed(1);
    expect(idsOf(receiver.requests)).toEqual([missed]);
    expect(told()).toEqual([expect.stringMatching(/It is tried again, from after event 1 on\.$/)]);
  });

  test('the service restarts elsewhere, the target is down: none is lost, none comes twice, one line says so', async () => {
    const workspaceId = await newWorkspace();
    const port = await freePort();
    let receiver = await receive(port);
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    const made: string[] = [];
    const make = async (count: number) => void made.push(...(await publish(workspaceId, count)));
    await make(3);
    await rms.printed(3);
    const arrived = [...idsOf(receiver.requests)];

    await receiver.close();
    await make(2);
    await rms.printed(5);
    receiver = await receive(port);

    const trying = () => rms.stderr().filter((line) => line.includes('tried again'));
    await services.restartWebhooks(async () => {
      await make(4);
      await waitUntil(() => trying().length > 0, { what: 'it to say that the service is away' });
    });
    const writing = make(5);
    await rms.printed(14);
    await writing;
    await services.restartWebhooks(() => make(150));
    const documents = (await rms.printed(164)).map((line) => JSON.parse(line));
    expect(documents.map(({ event_id }) => event_id)).toEqual(made);
    expect(documents.map(({ sequence }) => sequence)).toEqual(made.map((_, i) => i + 1));
    expect([...arrived, ...idsOf(receiver.requests)]).toEqual([...made.slice(0, 3), ...made.slice(5)]);
    expect(trying()[0]).toContain('the service does not answer');
    expect(trying().length).toBeLessThanOrEqual(2);
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toHaveLength(164);
  });

  test('Ctrl-C ends it while an answer is awaited', async () => {
    const workspaceId = await newWorkspace();
    const receiver = await receive();
    receiver.respondWith(() => {});
    const rms = await listen(receiver.url, workspaceId, ['--json']);
    await publish(workspaceId, 1);
    await receiver.waitFor(() => true, 'the event');
    expect(await rms.interrupt()).toBe(0);
    expect(rms.stdout()).toEqual([]);
  });

  test.each([
    [['--forward-to', 'localhost:3000/hook'], 2, /say an http:\/\/ or https:\/\/ URL/],
    [['--forward-to', 'ftp://localhost/hook'], 2, /say an http:\/\/ or https:\/\/ URL/],
    [['--forward-to', 'http://name:word@localhost/'], 2, /without a user name/],
    [['--events', 'resource.made'], 2, /some of resource\.created/],
    [['--after', '-1'], 2, /a whole number/],
    [['--environment', 'sandbox'], 2, /live, test/],
    [['--secret', 'whsec_short'], 2, /24 to 64 bytes/],
    [['--after', '7'], 1, /after is beyond the newest event, whose sequence is 0\n$/],
    [['--workspace', 'ws_none'], 1, /^rms: there is no workspace "ws_none"\n$/],
  ])('%j is refused', async (args, code, message) => {
    const url = args[0] === '--forward-to' ? [] : ['--forward-to', 'http://127.0.0.1:9/'];
    const workspace = args[0] === '--workspace' ? [] : ['--workspace', await newWorkspace()];
    const outcome = await services.rms('listen', ...url, ...workspace, ...args);
    expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
  });

  test('without a service it ends in one line', async () => {
    const args = ['listen', '--forward-to', 'http://127.0.0.1:9/', '--workspace', await newWorkspace()];
    const env = { AUTH_ADDRESS: services.addresses.auth, WEBHOOKS_ADDRESS: '127.0.0.1:1' };
    expect(await runRms(args, env)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rms: the service does not answer; [^\n]*\n$/),
    });
  });
});
