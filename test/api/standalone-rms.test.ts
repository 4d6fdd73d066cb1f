import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import {
  callApi,
  disposable,
  listenOnLoopback,
  makeCertificates,
  perSuite,
  programEnv,
  type Receiver,
  type Standalone,
  startCommands,
  startConnectProxy,
  startReceiver,
  startStandalone,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { openSettings } from './suites/all.ts';

const main = join(import.meta.dirname, '..', '..', 'cli', 'src', 'main.ts');

interface Resource {
  readonly id: string;
  readonly name: string;
  readonly metadata: object;
}

describe('rms with an API key, on a machine that knows only the address of the API', () => {
  let service: Standalone;
  const folder = suiteFolder('with-key');
  let key: string;
  afterAll(() => service?.stop());
  const commands = perSuite(startCommands);
  beforeAll(async () => {
    service = await startStandalone({ env: openSettings });
    key = (await newKey('admin')).key;
  }, 120_000);

  const newKey = (scope: string) =>
    service.rms<{ key: string }>('keys', 'create', '--environment', 'sandbox', '--scope', scope, '--name', scope);
  const envOf = (more: Readonly<Record<string, string>> = {}) =>
    programEnv({ XDG_CONFIG_HOME: folder, RMS_URL: service.sandboxUrl, RMS_API_KEY: key, ...more });
  const run = (args: readonly string[], more?: Readonly<Record<string, string>>) => commands.run(args, envOf(more));
  /** Runs a command with --json and returns its document. */
  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as T;
  };
  const one = async <T>(...args: string[]) => (await json<{ data: T }>(...args)).data;
  /** Returns the API's own document. */
  const fromApi = async (path: string) => (await callApi<object>('GET', service.sandboxUrl + path, key)).body;

  /** Starts `rms` as a separate process. */
  const start = (args: readonly string[], more?: Readonly<Record<string, string>>) => {
    const child = spawn(process.execPath, [main, ...args], { env: envOf(more) });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const closed = once(child, 'close') as Promise<[number | null]>;
    return {
      output: () => output,
      ended: async () => (await closed)[0],
      interrupt: async () => {
        child.kill('SIGINT');
        return (await closed)[0];
      },
    };
  };

  test('a resource is created, shown, changed and deleted, with the documents of the API', async () => {
    const created = await one<Resource>('resources', 'create', '--name', 'Über', '--metadata', '{"team":"blue"}');
    expect(created).toMatchObject({ name: 'Über', metadata: { team: 'blue' } });
    const shown = await json<{ data: Resource }>('resources', 'show', created.id);
    expect(shown).toEqual(await fromApi(`/v1/resources/${created.id}`));
    const changed = await one<Resource>(
      'resources',
      'update',
      created.id,
      '--data',
      '{"status":"archived","name":"A"}',
    );
    expect(changed).toMatchObject({ name: 'A', status: 'archived' });
    const listed = await run(['resources', 'list', '--status', 'archived']);
    expect(listed.stdout).toMatch(new RegExp(`^ID +NAME +STATUS .*\\n${created.id} +A +archived`));
    expect((await run(['resources', 'delete', created.id])).stdout).toBe(`${created.id}: done\n`);
    expect(await run(['resources', 'show', created.id])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^rms: There is no resource .*\(404 not_found, request req_\w+\)\n$/),
    });
  });

  test('a list continues over the pages of the API up to --limit', async () => {
    const create = (i: number) =>
      callApi('POST', `${service.sandboxUrl}/v1/resources`, key, { name: `Page ${i}`, type: 'advanced' });
    await Promise.all(Array.from({ length: 103 }, (_, i) => create(i)));
    const { data } = await json<{ data: Resource[] }>('resources', 'list', '--sort', 'name', '--limit', '1000');
    const pages = data.filter(({ name }) => name.startsWith('Page '));
    expect(new Set(pages.map(({ id }) => id)).size).toBe(103);
    const cut = await run(['resources', 'list', '--limit', '101']);
    expect(cut.stdout.split('\n')).toHaveLength(103);
    expect(cut.stderr).toBe('rms: showing the first 101; --limit shows more\n');
  });

  test('a webhook is created, tested, and its deliveries are shown and sent again', async () => {
    await using receiver = disposable(await startReceiver({ path: '' }));
    const webhook = await one<{ id: string; secret: string }>(
      ...['webhooks', 'create', '--url', receiver.url, '--events', 'resource.created', '--ordered'],
    );
    expect(webhook).toMatchObject({ ordered: true, events: ['resource.created'] });
    await one('webhooks', 'test', webhook.id);
    await one('resources', 'create', '--name', 'Delivered');
    const delivered = () =>
      json<{ data: { id: string; status: string; test: boolean }[] }>(
        ...['deliveries', 'list', '--webhook-id', webhook.id, '--created-after', '1h', '--test', 'false'],
      );
    await waitUntil(async () => (await delivered()).data[0]?.status === 'delivered', { what: 'the delivery' });
    const [delivery] = (await delivered()).data;
    expect((await delivered()).data).toHaveLength(1);
    const again = receiver.requests.length + 1;
    await one('deliveries', 'redeliver', delivery?.id ?? '');
    await waitUntil(() => receiver.requests.length === again, { what: 'the delivery again' });
    expect(await one('deliveries', 'show', delivery?.id ?? '')).toMatchObject({ id: delivery?.id });
    expect(await one('webhooks', 'update', webhook.id, '--status', 'disabled')).toMatchObject({ status: 'disabled' });

    expect(await one('webhooks', 'update', webhook.id, '--status', 'active')).toMatchObject({ status: 'active' });
    receiver.respondWith(500);
    const tested = await run(['webhooks', 'test', webhook.id, '--json']);
    expect([tested.code, tested.stderr]).toEqual([1, 'rms: The endpoint did not accept the event: status: 500.\n']);
    expect(JSON.parse(tested.stdout)).toMatchObject({ data: { response: { status: 500 } } });
    expect((await run(['deliveries', 'list', '--webhook-id', webhook.id])).stdout).toMatch(/ATTEMPT STATUS\n.* 500\n/);

    expect(await run(['webhooks', 'delete', webhook.id])).toMatchObject({
      code: 0,
      stderr:
        `rms: This deletes ${webhook.id} (${receiver.url}/). Failing now: no pending deliveries (webhook_deleted). ` +
        'They cannot be redelivered.\n',
    });
  });

  test('trigger causes an event of every type; events, requests, trace, audit, keys and workspace show them', async () => {
    const steps = await one<{ causes: string[] }[]>('trigger');
    const types = steps.flatMap(({ causes }) => causes).sort();
    await waitUntil(
      async () => {
        const { data } = await json<{ data: { type: string }[] }>('events', 'list', '--limit', '1000');
        return types.every((type) => data.slice(-4).some((event) => event.type === type));
      },
      { what: 'the events' },
    );
    expect(types).toEqual(['resource.created', 'resource.deleted', 'resource.status_changed', 'resource.updated']);
    const deletion = await waitUntil(
      async () => {
        const { data } = await json<{ data: { request_id: string; status: number }[] }>(
          ...['requests', 'list', '--method', 'DELETE', '--route', '/v1/resources/{id}', '--limit', '1'],
        );
        return data[0];
      },
      { what: 'the request' },
    );
    expect(deletion).toMatchObject({ status: 204 });
    const trace = await run(['trace', deletion.request_id]);
    expect(trace.stdout).toMatch(
      /^request +req_\w+\n\n[\s\S]*DELETE \/v1\/resources\/\{id\} in sandbox[\s\S]*resource\.deleted/,
    );
    const count = { count: expect.any(Number), limit: 1_000 };
    expect(await one('workspace')).toMatchObject({
      environment: 'sandbox',
      plan: null,
      objects: { keys: count, webhooks: count },
    });
    expect((await run(['workspace'])).stdout).toMatch(/^plan +\n[\s\S]*^objects\.keys\.count +[1-9]\d*\n/m);
    const { data: keys } = await json<{ data: object[] }>('keys', 'list');
    expect(keys).toContainEqual(expect.objectContaining({ name: 'admin', scope: 'admin' }));
    const { data: entries } = await json<{ data: object[] }>('audit', '--action', 'key.created');
    expect(entries).toContainEqual(expect.objectContaining({ action: 'key.created' }));
  });

  test('a key without the scope is refused with one line that names it', async () => {
    const { key: reading } = await newKey('read');
    const refused = await run(['webhooks', 'list'], { RMS_API_KEY: reading });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^rms: .*admin.*\(403 insufficient_scope, request req_\w+\)\n$/);
  });

  test('usage errors exit with 2, failures with one line and 1', async () => {
    expect(await run(['resources', 'create'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("required option '--name' not specified"),
    });
    expect(await run(['resources', 'list'], { RMS_API_KEY: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('needs an API key'),
    });
    const dead = 'http://127.0.0.1:1';
    expect(await run(['resources', 'list', '--url', dead])).toEqual({
      code: 1,
      stdout: '',
      stderr: `rms: ${dead}: connection refused\n`,
    });
    expect(await run(['--url', service.dashboardUrl, 'resources', 'list'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^rms: http:\S+: the response has status \d+ and is not of the API\.\n$/),
    });
    expect(await run(['resources', 'list', '--url', 'ftp://x'])).toMatchObject({ code: 1 });
  });

  test('login stores a key that only the user can read, and later commands use it', async () => {
    const without = { RMS_URL: '', RMS_API_KEY: '' };
    const url = `${service.sandboxUrl}/v1/`;
    const login = ['login', '--url', url, '--profile', 'team'];
    expect(await run([...login, '--api-key', 'sk_test_000000000000000000000000000000000000'], without)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('401 invalid_api_key'),
    });
    expect(await run(['resources', 'list', '--profile', 'team'], without)).toMatchObject({
      code: 1,
      stderr: 'rms: There is no profile "team"; rms login --profile team creates it.\n',
    });
    expect((await run([...login, '--api-key', key], without)).code).toBe(0);
    const file = join(folder, 'rms', 'profiles.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ team: { url: service.sandboxUrl, api_key: key } });
    expect((await run(['workspace'], { ...without, RMS_PROFILE: 'team' })).stdout).toContain('sandbox');
    expect((await run(['logout', '--profile', 'team'], without)).code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({});
  });

  /** Starts a TLS server for a name that passes requests below /prefix on to the API. */
  const startTlsProxy = (name: string) => {
    const certificates = makeCertificates(join(folder, `ca-${name}`));
    const { certFile, keyFile } = certificates.issue(name);
    const proxy = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (incoming, answer) => {
      const path = (incoming.url ?? '').replace(/^\/prefix\b/, '');
      if (path === incoming.url) return answer.writeHead(404).end();
      const { host: _, ...headers } = incoming.headers;
      const outgoing = request(service.sandboxUrl + path, { method: incoming.method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      incoming.pipe(outgoing);
    });
    return listenOnLoopback(proxy).then((listening) => ({ ...listening, caFile: certificates.caFile }));
  };

  test('an API behind TLS and a path prefix is called with both', async () => {
    const { port, close, caFile } = await startTlsProxy('api.test');
    try {
      const rms = start(['resources', 'list', '--sort', 'name', '--limit', '102'], {
        RMS_URL: `https://127.0.0.1:${port}/prefix/`,
        NODE_EXTRA_CA_CERTS: caFile,
      });
      expect(await rms.ended()).toBe(0);
      expect(rms.output()).toContain('Page 101');
      const untrusted = start(['resources', 'list'], { RMS_URL: `https://127.0.0.1:${port}/prefix` });
      expect(await untrusted.ended()).toBe(1);
      expect(untrusted.output()).toMatch(/^rms: https:\S+: .*certificate.*\n$/);
    } finally {
      await close();
    }
  });

  test('an API that only an HTTP proxy reaches is called through the proxy, which resolves the name', async () => {
    const tls = await startTlsProxy('api.example');
    const apiPort = Number(new URL(service.sandboxUrl).port);
    const proxy = await startConnectProxy((authority) => (authority.endsWith(':443') ? tls.port : apiPort));
    const list = ['resources', 'list', '--limit', '1'];
    const url = 'https://api.example/prefix';
    try {
      const secure = start(list, { RMS_URL: url, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: tls.caFile });
      expect([await secure.ended(), secure.output()]).toEqual([0, expect.stringMatching(/^ID +NAME/)]);
      const plain = await run(list, { RMS_URL: 'http://api.example', HTTP_PROXY: proxy.url });
      expect(plain.stdout).toMatch(/^ID +NAME/);
      expect(proxy.requests).toEqual(['api.example:443', 'api.example:80']);
      // Loopback and hosts of NO_PROXY are called directly.
      expect(await run(list, { HTTP_PROXY: proxy.url })).toMatchObject({ code: 0 });
      const exempt = { RMS_URL: 'http://api.invalid', HTTP_PROXY: proxy.url, NO_PROXY: 'api.invalid' };
      expect(await run(list, exempt)).toEqual({
        code: 1,
        stdout: '',
        stderr: 'rms: http://api.invalid: the name does not resolve\n',
      });
      expect(proxy.requests).toHaveLength(2);
      expect(await run(list, { RMS_URL: url, HTTPS_PROXY: 'http://127.0.0.1:1' })).toEqual({
        code: 1,
        stdout: '',
        stderr: `rms: ${url}: the HTTP proxy failed: ECONNREFUSED\n`,
      });
    } finally {
      await proxy.close();
      await tls.close();
    }
  });

  test('alerts shows, acknowledges and mutes incidents, and manages rules and channels', async () => {
    const receiver = await startReceiver({ path: '' });
    receiver.respondWith(500);
    try {
      const kind = 'delivery_failures_in_a_row';
      const rule = await one('alerts', 'rules', 'update', kind, '--threshold', '1');
      expect(rule).toMatchObject({ kind, threshold: 1 });
      const { data: rules } = await json<{ data: { kind: string }[] }>('alerts', 'rules');
      expect(rules).toContainEqual(expect.objectContaining({ kind, threshold: 1 }));
      const channel = await one<{ id: string; secret: string }>(
        ...['alerts', 'channels', 'create', '--type', 'webhook', '--name', 'Bot', '--url', receiver.url],
      );
      expect(channel.secret).toMatch(/^whsec_/);
      expect((await run(['alerts', 'channels'])).stdout).toMatch(new RegExp(`${channel.id} +webhook +Bot`));
      expect(await run(['alerts', 'channels', 'test', channel.id])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^rms: The channel did not accept the message: .*500/),
      });
      expect((await run(['alerts', 'channels', 'delete', channel.id])).code).toBe(0);

      const webhook = await one<{ id: string }>('webhooks', 'create', '--url', receiver.url, '--events', '*');
      await one('resources', 'create', '--name', 'Failing');
      const open = await waitUntil(
        async () => {
          const list = ['alerts', 'list', '--subject-id', webhook.id, '--status', 'open'];
          return (await json<{ data: { id: string }[] }>(...list)).data[0];
        },
        { what: 'the incident' },
      );
      expect(await one('alerts', 'show', open.id)).toMatchObject({ kind, subject: { id: webhook.id } });
      const acknowledged = await one('alerts', 'acknowledge', open.id);
      expect(acknowledged).toMatchObject({ acknowledged_by: expect.stringMatching(/^key:key_/) });
      const muted = await one<{ muted_until: string }>('alerts', 'mute', open.id, '--until', '24h');
      expect(Math.abs(Date.parse(muted.muted_until) - Date.now() - 86_400_000)).toBeLessThan(600_000);
      expect(await one('alerts', 'mute', open.id, '--until', 'null')).toMatchObject({ muted_until: null });
      expect((await run(['webhooks', 'delete', webhook.id])).code).toBe(0);
    } finally {
      await receiver.close();
    }
  });

  test('requests --follow prints every request once, slow ones and those around an outage too', async () => {
    interface Logged {
      readonly request_id: string;
      readonly method: string;
      readonly status: number;
    }
    const following = start(['requests', '--follow', '--json', '--method', 'POST']);
    const text = start(['requests', 'list', '--follow', '--route', '/v1/resources']);
    const printed = () => {
      const lines = following
        .output()
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.startsWith('{'));
      // The following begins with a whole second, which may contain requests of other tests.
      return lines.map((line) => JSON.parse(line) as Logged).filter(({ request_id: id }) => id.startsWith('follow-'));
    };
    const post = async (requestId: string) => {
      const response = await fetch(`${service.sandboxUrl}/v1/resources`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': requestId },
        body: '{"name":"Followed"}',
      });
      expect(response.status).toBe(201);
    };
    try {
      await waitUntil(() => following.output().includes('rms: following sandbox requests of http'), {
        what: 'the note',
      });
      await waitUntil(() => text.output().includes('rms: following'), { what: 'the other note' });
      // Starts first and ends last.
      const slow = request(`${service.sandboxUrl}/v1/resources`, {
        method: 'POST',
        agent: false,
        headers: {
          ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...{ 'x-request-id': 'follow-slow', 'content-length': 15 },
        },
      });
      slow.on('response', (response) => response.resume());
      slow.write('{"name":');
      await post('follow-1');
      await run(['resources', 'list']);
      await waitUntil(() => printed().length === 1, { what: 'the first request' });
      slow.end('"Slow"}');
      await waitUntil(() => printed().length === 2, { what: 'the slow request' });
      expect(printed().map(({ request_id: id, method, status }) => `${method} ${id} ${status}`)).toEqual([
        'POST follow-1 201',
        'POST follow-slow 201',
      ]);
      await waitUntil(() => text.output().includes(' follow-slow '), { what: 'the line' });
      expect(text.output()).toMatch(/\n20\S+Z {2}follow-1 {2}POST {2}\/v1\/resources {2}201 {2}- {2}[\d.]+ {2}key_/);
      await service.kill();
      await waitUntil(() => following.output().includes('Retrying; the next request is after 20'), {
        what: 'the note',
      });
      await service.restart();
      await post('follow-2');
      await post('follow-2');
      await waitUntil(() => printed().length >= 4, { what: 'the later requests' });
      // Every tenth poll reads again what earlier ones have read.
      const ownPolls = async () => {
        const { data } = (await fromApi('/v1/requests?method=GET&route=/v1/requests&per_page=100')) as {
          data: Logged[];
        };
        const counts = Object.values(Object.groupBy(data, ({ request_id: id }) => id));
        return counts.filter((polls = []) => polls.length > 24).length;
      };
      // Less frequent than the polls, so that the newest requests are not this test's.
      await waitUntil(async () => (await ownPolls()) >= 2, { what: 'another sweep of both', everyMs: 2_000 });
      expect(printed().map(({ request_id: id }) => id)).toEqual(['follow-1', 'follow-slow', 'follow-2', 'follow-2']);
    } finally {
      expect(await following.interrupt()).toBe(0);
      expect(await text.interrupt()).toBe(0);
    }
  });

  test('listen forwards signed events of the environment of the key, and none is lost while the API is away', async () => {
    const receiver: Receiver = await startReceiver({ path: '' });
    const listening = start(['listen', '--forward-to', receiver.url]);
    try {
      await waitUntil(() => listening.output().includes('Signing secret: '), { what: 'rms listen to start' });
      expect(listening.output()).toMatch(/^Forwarding sandbox events of http/);
      await one('trigger');
      await waitUntil(() => receiver.requests.length === 4, { what: 'the first events' });
      await service.kill();
      await waitUntil(() => listening.output().includes('Retrying; the next event is after'), { what: 'the note' });
      await service.restart();
      await one('trigger');
      await waitUntil(() => receiver.requests.length === 8, { what: 'the later events' });
      const secret = /Signing secret: (\S+)/.exec(listening.output())?.[1] ?? '';
      const events = receiver.requests.map(({ body, headers }) => {
        return new Webhook(secret).verify(body, headers as Record<string, string>) as { id: string };
      });
      expect(new Set(events.map(({ id }) => id)).size).toBe(8);
    } finally {
      expect(await listening.interrupt()).toBe(0);
      await receiver.close();
    }
  });
});
