import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiCaller, perSuite, programEnv, startStandalone, waitUntil } from '@rms/testkit';

const root = join(import.meta.dirname, '..', '..');

interface Operation {
  readonly operationId: string;
  readonly 'x-codeSamples': readonly { readonly label: string; readonly source: string }[];
}

describe('the code samples of the API reference', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-code-samples-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const service = perSuite(startStandalone);
  const newKey = async () => {
    const names = ['--environment', 'live', '--scope', 'admin', '--name', 'samples'];
    return (await service.rms<{ key: string }>('keys', 'create', ...names)).key;
  };
  const operations = async () => {
    const { paths } = (await (await fetch(`${service.liveUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>;
    };
    return Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId, 'x-codeSamples': samples }]) => ({
        path,
        method,
        operationId,
        sourceOf: (label: string) => samples.find((sample) => sample.label === label)?.source ?? '',
      })),
    );
  };
  const run = (command: string, args: readonly string[], env = process.env) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env });
    return { status, stdout, stderr };
  };

  test('in TypeScript pass the type checker', async () => {
    for (const { operationId, sourceOf } of await operations()) {
      writeFileSync(join(folder, `${operationId}.ts`), sourceOf('TypeScript'));
    }
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: 'es2022', module: 'nodenext', exactOptionalPropertyTypes: true },
      ...{ allowImportingTsExtensions: true, types: ['node'], typeRoots: [join(root, 'node_modules', '@types')] },
      paths: { '@rms/client': [join(root, 'clients', 'typescript', 'src', 'index.ts')] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const { status, stdout } = run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', '.']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });

  test('for curl are valid shell commands, and read every object and list', async () => {
    const key = await newKey();
    const call = apiCaller(service.liveUrl, key);
    await call('POST', '/v1/resources', { name: 'Order 7' });
    await call('POST', '/v1/webhooks', { url: 'https://example.com/hooks', events: ['*'], status: 'paused' });
    await call('POST', '/v1/alert_channels', { type: 'email', name: 'Ops', addresses: ['ops@example.com'] });
    await call('POST', '/v1/invitations', { email: 'ann@example.com', role: 'viewer' });
    const { requestId } = await call('POST', '/v1/resources', { name: 'Order 8' });
    const read = async (path: string) => {
      const response = await fetch(service.liveUrl + path, { headers: { Authorization: `Bearer ${key}` } });
      return (await response.json()) as { data: { id: string }[] };
    };
    await waitUntil(async () => (await read('/v1/deliveries')).data.length > 0, { what: 'a delivery' });
    await waitUntil(async () => Array.isArray((await read(`/v1/requests/${requestId}`)).data) === false, {
      what: 'the request in the log',
    });
    const env = programEnv({ RMS_URL: service.liveUrl, RMS_API_KEY: key });
    for (const { path, method, operationId, sourceOf } of await operations()) {
      const source = sourceOf('curl');
      expect({ operationId, ...run('sh', ['-n', '-c', source]) }).toMatchObject({ operationId, status: 0, stderr: '' });
      if (method !== 'get') continue;
      const [list = '', parameter] = path.split(/\/\{(\w+)\}/);
      const known = parameter === 'id' ? (await read(list)).data[0]?.id : parameter === 'request_id' ? requestId : '';
      const command = known ? source.replace(/\b[a-z]+_01\w+/, known) : source;
      const { stdout } = run('sh', ['-c', `${command} --silent --show-error --write-out '\\n%{http_code}'`], env);
      // No list has an item only where the service has had no reason to create one.
      const hasNone = parameter === 'id' && !known && ['/v1/replays', '/v1/incidents', '/v1/members'].includes(list);
      expect([operationId, stdout.split('\n').at(-1)]).toEqual([operationId, hasNone ? '404' : '200']);
    }
  });
});
