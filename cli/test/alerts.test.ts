import { startServices, type TestServices } from './support.ts';

describe('rms alerts', () => {
  let services: TestServices;
  let workspace: string;
  beforeAll(async () => {
    services = await startServices();
    workspace = (await services.workspaces.createWorkspace({ name: 'Acme' })).workspace?.id ?? '';
  });
  afterAll(() => services.stop());

  test('rules shows the rules of both environments, which are there from the start', async () => {
    const { data } = await services.json('alerts', 'rules', '--workspace', workspace);
    expect(data).toHaveLength(14);
    expect(data[0]).toEqual({
      environment: 'live',
      kind: 'api_error_rate',
      enabled: true,
      threshold: 0.1,
      window_seconds: 300,
      minimum: 50,
      recipients: [],
      to_owners: true,
      unsubscribed: [],
      updated_at: null,
    });
    expect(data[13]).toMatchObject({ environment: 'test', kind: 'key_expiry', threshold: 7, window_seconds: null });
    const { stdout } = await services.rms('alerts', 'rules');
    expect(stdout).toMatch(/^live +quota +yes +0\.8 +owners$/m);
  });

  test('list shows incidents, of which there are none in a quiet workspace', async () => {
    expect(await services.json('alerts', 'list', '--state', 'open', '--kind', 'quota')).toEqual({ data: [] });
    expect((await services.rms('alerts', 'list')).stdout).toMatch(/^OPENED +CLOSED +ENVIRONMENT/);
    expect(await services.rms('alerts', 'list', '--state', 'wrong')).toMatchObject({ code: 2, stdout: '' });
  });

  test('test says to whom a mail is on its way; nobody owns the workspace yet', async () => {
    expect(await services.json('alerts', 'test', '--kind', 'quota')).toEqual({ addresses: [] });
    expect(await services.rms('alerts', 'test', '--kind', 'quota', '--environment', 'test')).toMatchObject({
      code: 0,
      stdout: 'the rule has no recipients\n',
    });
    expect(await services.rms('alerts', 'test')).toMatchObject({ code: 2, stdout: '' });
  });
});
