import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { disposable, programEnv, startReceiver, suiteFolder, waitUntil } from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { Rms } from '../../../clients/typescript/src/index.ts';
import { type NamedProxy, startNamedProxy } from '../support/named-proxy.ts';
import { run } from '../support/run.ts';
import type { Stage } from '../support/stage.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const rms = join(root, 'cli', 'src', 'main.ts');
/** Number of events that `rms trigger` causes. */
const triggered = 4;

/** Creates a resource, finds it in the list, and prints the types of its events in the feed. */
const pythonProgram = `
import os
from rms_client import Rms

with Rms(url=os.environ["RMS_URL"], api_key=os.environ["RMS_API_KEY"]) as rms:
    created = rms.resources.create({"name": "From Python"}).data
    assert created["id"] in [one["id"] for one in rms.resources.list()]
    rms.resources.delete(created["id"])
    types = []
    for event in rms.events.feed(follow=True):
        if event["data"]["object"]["id"] == created["id"]:
            types.append(event["type"])
        if len(types) == 2:
            break
    print(types)
`;

export function withOneKeySuite(stage: () => Stage): void {
  describe('From outside the cluster, with one API key', () => {
    const folder = suiteFolder('with-one-key');
    let api: NamedProxy;
    let env: Record<string, string>;
    beforeAll(async () => {
      const { ingress, newAccount } = stage();
      api = await startNamedProxy(ingress.url, ingress.hosts.live);
      const { key } = await (await newAccount()).newKey('live', 'admin');
      env = { RMS_URL: api.url, RMS_API_KEY: key };
    }, 60_000);
    afterAll(() => api?.stop());

    test('rms listen forwards the signed events that rms trigger causes', async () => {
      await using receiver = disposable(await startReceiver({ path: '' }));
      const options = { env: programEnv({ XDG_CONFIG_HOME: folder, ...env }) };
      const listening = spawn(process.execPath, [rms, 'listen', '--forward-to', receiver.url], options);
      const exited = once(listening, 'exit');
      let output = '';
      listening.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      try {
        await waitUntil(() => output.includes('Signing secret: '), { what: 'rms listen to start', timeoutMs: 30_000 });
        const triggering = spawn(process.execPath, [rms, 'trigger'], options);
        expect(await once(triggering, 'exit')).toEqual([0, null]);
        await waitUntil(() => receiver.requests.length >= triggered, { what: 'the events', timeoutMs: 30_000 });
        const secret = /Signing secret: (\S+)/.exec(output)?.[1] ?? '';
        for (const { body, headers } of receiver.requests) {
          new Webhook(secret).verify(body, headers as Record<string, string>);
        }
        expect(output).toMatch(/^Forwarding live events of http/);
      } finally {
        listening.kill('SIGINT');
        expect(await exited).toEqual([0, null]);
      }
    }, 120_000);

    test('the TypeScript client creates, lists and deletes a resource, and reads its events', async () => {
      const client = new Rms({ url: env.RMS_URL ?? '', apiKey: env.RMS_API_KEY ?? '' });
      const { data: created } = await client.resources.create({ name: 'From TypeScript' });
      const listed: string[] = [];
      for await (const { id } of client.resources.list()) listed.push(id);
      expect(listed).toContain(created.id);
      await client.resources.delete(created.id);
      const types = await waitUntil(
        async () => {
          const found: string[] = [];
          for await (const { type, data } of client.events.feed()) {
            if (data?.object && 'id' in data.object && data.object.id === created.id) found.push(type);
          }
          return found.length === 2 && found;
        },
        { what: 'the events of the resource', timeoutMs: 30_000 },
      );
      expect(types).toEqual(['resource.created', 'resource.deleted']);
    }, 60_000);

    test('the Python client does the same', async () => {
      const venv = join(folder, 'venv');
      await run('python3', ['-m', 'venv', venv]);
      const python = join(venv, 'bin', 'python');
      const client = join(root, 'clients', 'python');
      await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', client]);
      const output = await run(python, ['-c', pythonProgram], { env: programEnv(env) });
      expect(output).toBe("['resource.created', 'resource.deleted']\n");
    }, 240_000);
  });
}
