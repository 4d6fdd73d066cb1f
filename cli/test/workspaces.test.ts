import { type Outcome, runRms, startServices, type TestServices } from './support.ts';

describe('rms workspaces, and which one a command is about', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  const oneLine = ({ code, stdout, stderr }: Outcome) => {
    expect([code, stdout, stderr.split('\n').length]).toEqual([1, '', 2]);
    return stderr;
  };

  test('none: says how to make one; one: it is that; several: lists them, and takes --workspace', async () => {
    expect(oneLine(await services.rms('keys', 'list'))).toContain('rms workspaces create');
    const first = await services.json('workspaces', 'create', '--name', 'first', '--if-none');
    expect(await services.json('workspaces', 'create', '--name', 'other', '--if-none')).toEqual(first);
    expect(first).toEqual({ id: expect.stringMatching(/^ws_/), name: 'first', created_at: expect.any(String) });
    expect(await services.json('keys', 'list')).toEqual({ data: [] });

    const second = await services.json('workspaces', 'create', '--name', 'second');
    const line = oneLine(await services.rms('keys', 'list'));
    for (const { id, name } of [first, second]) expect(line).toContain(`${id} (${name})`);
    const args = ['--environment', 'live', '--scope', 'read', '--name', 'k', '--workspace', second.id];
    const { id } = await services.json('keys', 'create', ...args);
    expect((await services.json('keys', 'list', '--workspace', second.id)).data).toMatchObject([{ id }]);
    expect((await services.json('keys', 'list', '--workspace', first.id)).data).toEqual([]);
    expect((await services.json('workspaces', 'list')).data).toEqual([
      { ...first, plan: null },
      { ...second, plan: null },
    ]);
  });

  test('addresses in the environment go before DATA_DIR', async () => {
    const { auth, webhooks } = services.addresses;
    const found = await runRms(['workspaces', 'list'], {
      DATA_DIR: '/nowhere',
      AUTH_ADDRESS: auth,
      WEBHOOKS_ADDRESS: webhooks,
    });
    expect(found.code).toBe(0);
    const missed = await runRms(['workspaces', 'list'], { DATA_DIR: '/nowhere', AUTH_ADDRESS: '127.0.0.1:1' });
    expect(oneLine(missed)).toMatch(/does not answer.*AUTH_ADDRESS/);
  });
});
