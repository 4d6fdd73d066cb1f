import type { Outcome } from '@rms/testkit';
import { runRms, startServices, type TestServices } from './support.ts';

describe('rms workspaces, and the workspace of a command', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  const oneLine = ({ code, stdout, stderr }: Outcome) => {
    expect([code, stdout, stderr.split('\n').length]).toEqual([1, '', 2]);
    return stderr;
  };

  test('without workspaces it explains how to create one, with one it uses it, with several it requires --workspace', async () => {
    expect(oneLine(await services.rms('keys', 'list'))).toContain('rms workspaces create');
    const first = await services.json('workspaces', 'create', '--name', 'first', '--if-none');
    expect(await services.json('workspaces', 'create', '--name', 'other', '--if-none')).toEqual(first);
    const unlimited = { type: 'workspace', plan: null, deletion_started_at: null };
    const created = { id: expect.stringMatching(/^ws_/), name: 'first', created_at: expect.any(String) };
    expect(first).toEqual({ ...created, ...unlimited });
    expect(await services.json('keys', 'list')).toEqual({ data: [] });

    const second = await services.json('workspaces', 'create', '--name', 'second');
    const line = oneLine(await services.rms('keys', 'list'));
    for (const { id, name } of [first, second]) expect(line).toContain(`${id} (${name})`);
    const args = ['--environment', 'live', '--scope', 'read', '--name', 'k', '--workspace', second.id];
    const { id } = await services.json('keys', 'create', ...args);
    expect((await services.json('keys', 'list', '--workspace', second.id)).data).toMatchObject([{ id }]);
    expect((await services.json('keys', 'list', '--workspace', first.id)).data).toEqual([]);
    expect((await services.json('workspaces', 'list')).data).toEqual([first, second]);
    const limited = await services.rms('workspaces', 'list', '--limit', '1', '--json');
    expect(JSON.parse(limited.stdout).data).toEqual([first]);
    expect(limited.stderr).toContain('oldest 1 workspaces');

    for (let i = 0; i < 19; i += 1) await services.workspaces.createWorkspace({ name: `further-${i}` });
    const long = oneLine(await services.rms('keys', 'list'));
    expect(long).toContain('(further-17), and others that `rms workspaces list` shows');
    expect(oneLine(await services.rms('keys', 'list', '--workspace', 'ws_none'))).toContain(
      'There is no workspace "ws_none".',
    );
  });

  test('addresses in the environment take precedence over DATA_DIR', async () => {
    const { auth, webhooks } = services.addresses;
    const found = await runRms(['workspaces', 'list'], {
      DATA_DIR: '/nowhere',
      AUTH_ADDRESS: auth,
      WEBHOOKS_ADDRESS: webhooks,
    });
    expect(found.code).toBe(0);
    const missed = await runRms(['workspaces', 'list'], { DATA_DIR: '/nowhere', AUTH_ADDRESS: '127.0.0.1:1' });
    expect(oneLine(missed)).toMatch(/unreachable.*AUTH_ADDRESS/);
  });
});
