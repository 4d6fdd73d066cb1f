import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programEnv, type Standalone, startStandalone, waitUntil } from '@rms/testkit';
import { codeBlocks } from '../../../../scripts/lib/code-blocks.mjs';
import { Rms } from '../../src/index.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');
/** The oldest version that package.json promises. */
const oldestNode = '20.20.2';

/** A receiver's call of the function that the README exports. */
const check = `
import { createHmac } from 'node:crypto';

const body = JSON.stringify({ id: 'evt_1', type: 'resource.created', created_at: '', data: { object: { name: 'Grüße' } } });
const timestamp = String(Math.floor(Date.now() / 1000));
const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').slice('whsec_'.length), 'base64');
const signature = createHmac('sha256', key).update(\`evt_1.\${timestamp}.\${body}\`).digest('base64');
const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': \`v1,\${signature}\` };
for (const sent of [body, \`\${body} \`]) {
  const response = await receive(new Request('http://localhost/', { method: 'POST', headers, body: sent }));
  console.log('received', response.status);
}
`;

describe('the packed client in a project of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-packed-client-'));
  let service: Standalone;
  let key: string;
  const run = (command: string, args: readonly string[], env = process.env) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stdout + stderr}`);
    return stdout;
  };
  const npm = (...args: string[]) => run('npm', [...args, '--silent', '--no-audit', '--no-fund']);

  beforeAll(async () => {
    service = await startStandalone();
    const names = ['--environment', 'live', '--scope', 'admin', '--name', 'README'];
    ({ key } = await service.rms<{ key: string }>('keys', 'create', ...names));
    const rms = new Rms({ url: service.liveUrl, apiKey: key });
    await rms.resources.create({ name: 'Order 6' });
    const hasEvent = async () => (await rms.events.list().page()).data.length > 0;
    await waitUntil(hasEvent, { what: 'the first event' });
    const file = npm('pack', join(root, 'clients', 'typescript'), '--pack-destination', folder).trim();
    writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
    npm('install', '--offline', join(folder, file));
  }, 180_000);
  afterAll(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('contains what users need, and depends on nothing', () => {
    const installed = join(folder, 'node_modules', '@rms', 'client');
    const files = run('find', [installed, '-type', 'f']).trim().split('\n');
    const kinds = new Set(
      files.map((file) => file.slice(installed.length + 1).replace(/^dist\/.*?(\.d\.ts|\.js)$/, '$1')),
    );
    expect([...kinds].sort()).toEqual(['.d.ts', '.js', 'LICENSE', 'README.md', 'package.json']);
    expect(readFileSync(join(folder, 'package-lock.json'), 'utf8').match(/"node_modules\//g)).toHaveLength(1);
    expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
  });

  test('compiles the examples of its README', () => {
    const readme = readFileSync(join(root, 'clients', 'typescript', 'README.md'), 'utf8');
    const blocks = codeBlocks(readme).filter(({ language }) => language === 'ts');
    expect(blocks.length).toBeGreaterThan(5);
    writeFileSync(join(folder, 'program.ts'), blocks.map(({ code }) => code).join('\n') + check);
    symlinkSync(join(root, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
    symlinkSync(join(root, 'node_modules', 'undici-types'), join(folder, 'node_modules', 'undici-types'));
    const options = ['--strict', '--target', 'es2022', '--types', 'node', '--exactOptionalPropertyTypes'];
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    for (const module of ['nodenext', 'preserve']) {
      run(tsc, [...options, '--module', module, '--noEmit', 'program.ts']);
    }
    run(tsc, [...options, '--module', 'nodenext', 'program.ts']);
  });

  const nodes = {
    'this Node': () => process.execPath,
    [`Node ${oldestNode}`]: () => {
      const name = `node-${process.platform}-${process.arch}`;
      npm('install', '--no-save', '--ignore-scripts', '--prefix', join(folder, 'oldest'), `${name}@${oldestNode}`);
      return join(folder, 'oldest', 'node_modules', name, 'bin', 'node');
    },
  };
  test.each(Object.keys(nodes) as (keyof typeof nodes)[])('runs the examples on %s', (name) => {
    const node = nodes[name]?.() ?? '';
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const env = programEnv({ RMS_URL: service.liveUrl, RMS_API_KEY: key, WEBHOOK_SECRET: secret });
    const lines = run(node, ['program.js'], env).trim().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^res_\w+ active$/),
        "[ 'name' ]",
        expect.stringMatching(/^resource\.created \d+$/),
        'has changed',
      ]),
    );
    expect(lines.slice(-3)).toEqual(['created Grüße', 'received 200', 'received 401']);
  });
});
