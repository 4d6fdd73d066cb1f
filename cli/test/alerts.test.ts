import { runRms, startServices, type TestServices } from './support.ts';

describe('rms alerts', () => {
  let services: TestServices;
  let workspace: string;
  beforeAll(async () => {
    services = await startServices();
    workspace = await services.createWorkspace('Acme');
  });
  afterAll(() => services.stop());

  test('rules lists the default rules of both environments', async () => {
    const { data } = await services.json('alerts', 'rules', '--workspace', workspace);
    expect(data).toHaveLength(14);
    expect(data[0]).toEqual({
      environment: 'live',
      kind: 'api_error_rate',
      type: 'alert_rule',
      enabled: true,
      threshold: 0.1,
      window: 300,
      minimum: 50,
      recipients: [],
      to_owners: true,
      channels: [],
      unsubscribed: [],
      unconfirmed: [],
      updated_at: null,
    });
    expect(data[13]).toMatchObject({ environment: 'sandbox', kind: 'key_expiry', threshold: 7, window: null });
    const { stdout } = await services.rms('alerts', 'rules');
    expect(stdout).toMatch(/^live +quota +Monthly quota +yes +0\.8 +owners$/m);
  });

  test('reports a missing alerts service', async () => {
    const env = { AUTH_ADDRESS: '127.0.0.1:1', ALERTS_ADDRESS: 'none' };
    const { code, stderr } = await runRms(['alerts', 'list'], env);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('ALERTS_ADDRESS is "none"') });
  });

  test('list is empty for a workspace without incidents', async () => {
    expect(await services.json('alerts', 'list', '--status', 'open', '--kind', 'quota')).toEqual({ data: [] });
    expect((await services.rms('alerts', 'list')).stdout).toMatch(/^OPENED +CLOSED +ENVIRONMENT/);
    expect(await services.rms('alerts', 'list', '--status', 'wrong')).toMatchObject({ code: 2, stdout: '' });
  });

  test('test reports that a rule of a workspace without owners has no recipients', async () => {
    expect(await services.json('alerts', 'test', '--kind', 'quota')).toEqual({ addresses: [], emails: [] });
    expect(await services.rms('alerts', 'test', '--kind', 'quota', '--environment', 'test')).toMatchObject({
      code: 0,
      stdout: 'The rule has no recipients.\n',
    });
    expect(await services.rms('alerts', 'test')).toMatchObject({ code: 2, stdout: '' });
  });
});
