import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, type Outcome, programEnv, type Standalone, startStandalone, suiteFolder } from '@rms/testkit';

const scripts = join(import.meta.dirname, '..', '..', '..', 'scripts');

function execute(command: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { env, cwd, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: Number((error as ExecFileException | null)?.code ?? 0), stdout, stderr }),
    );
  });
}

/** Tests that an `rms` outside of the checkout works with a key, and without one on the machine of an installation. */
function testInstalled(install: (folder: string) => Promise<string>): void {
  const folder = suiteFolder('installed');
  let service: Standalone;
  let rms: string;
  let key: string;
  afterAll(() => service?.stop());
  beforeAll(async () => {
    rms = await install(folder);
    service = await startStandalone();
    const names = ['--environment', 'sandbox', '--scope', 'admin', '--name', 'installed'];
    ({ key } = await service.rms<{ key: string }>('keys', 'create', ...names));
  }, 300_000);
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    execute(rms, args, programEnv({ XDG_CONFIG_HOME: folder, ...env }), folder);

  test('it lists the commands with a key and those of the operator apart, and prints its version', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/With an API key [\s\S]+ {2}resources [\s\S]+as its operator:\n[\s\S]+ {2}users /);
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  test('after a login, resources are created and listed; a dead address is one line and status 1', async () => {
    const login = ['login', '--url', service.sandboxUrl, '--api-key', key];
    expect(await run(login)).toMatchObject({ code: 0, stdout: expect.stringContaining('sandbox'), stderr: '' });
    const created = await run(['resources', 'create', '--name', 'Über', '--json']);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const { data } = JSON.parse(created.stdout) as { data: { id: string } };
    expect((await run(['resources', 'list'])).stdout).toContain(`${data.id}  Über`);
    expect((await run(['complete', 'alerts', 'ack'])).stdout).toMatch(/^acknowledge\t/);
    expect(await run(['resources', 'list', '--url', 'http://127.0.0.1:1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rms: http://127.0.0.1:1: connection refused\n',
    });
    expect((await run(['resources', 'create'])).code).toBe(2);
  });

  test('without a key, the commands of the operator call the services of DATA_DIR', async () => {
    const env = { XDG_CONFIG_HOME: join(folder, 'none'), DATA_DIR: service.dataDir };
    expect(await run(['keys', 'list'], env)).toMatchObject({ code: 0, stdout: expect.stringContaining('installed') });
    expect((await run(['plans', 'list'], env)).code).toBe(0);
    // Only an installation has the migrations of its version.
    expect(await run(['migrate'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown command 'migrate'"),
    });
  });
}

describe('the npm package, installed without a registry', () => {
  testInstalled(async (folder) => {
    const packed = await execute(process.execPath, [join(scripts, 'rms-package.mjs'), folder], process.env, folder);
    expect(packed).toMatchObject({ code: 0, stderr: '' });
    const prefix = join(folder, 'prefix');
    const options = ['--global', '--offline', '--no-audit', '--prefix', prefix, '--cache', join(folder, 'cache')];
    const installed = await execute('npm', ['install', ...options, packed.stdout.trim()], process.env, folder);
    expect(installed).toMatchObject({ code: 0 });
    expect(readdirSync(join(prefix, 'lib', 'node_modules'))).toEqual(['@rms']);
    return join(prefix, 'bin', 'rms');
  });
});

describeWith('newest-node', 'the executable', () => {
  testInstalled(async (folder) => {
    const script = join(scripts, 'rms-executable.mjs');
    const built = await execute(process.execPath, [script, '--out', folder], process.env, folder);
    expect(built).toMatchObject({ code: 0, stderr: '' });
    const [path = ''] = built.stdout.split('  ');
    expect(built.stdout).toBe(`${path}  ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
    expect(existsSync(join(folder, 'THIRD-PARTY-LICENSES.txt'))).toBe(true);
    return path;
  });
});
