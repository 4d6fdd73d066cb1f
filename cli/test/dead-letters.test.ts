import { startServices, type TestServices } from './support.ts';

describe('rms dead-letters', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  test('lists records that could not be stored, and replays them', async () => {
    expect((await services.json('dead-letters', 'list')).data).toEqual([]);
    const workspaceId = await services.createWorkspace();
    await services.insertDeadLetters(workspaceId);
    const { data } = await services.json('dead-letters', 'list');
    expect(data).toMatchObject([
      { state: 'kept', reason: 'refused', workspace_id: null, environment: null, value_base64: '/wA=' },
      {
        ...{ workspace_id: workspaceId, environment: 'live', value_base64: '/wE=', error: 'too long', key: 'res_1' },
        ...{ topic: 'rms.resource-events.v1', partition: 2, offset: 7, headers: { 'event-id': 'evt_1' } },
      },
    ]);
    const own = await services.json('dead-letters', 'list', '--workspace', workspaceId);
    expect(own.data).toEqual(data.slice(1));
    const { stdout } = await services.rms('dead-letters', 'list', '--workspace', workspaceId);
    expect(stdout).toMatch(/^ID +STATE +REASON .*\n\d+ +kept +refused .* evt_1 +res_1 +2 +7 +too long\n$/);

    expect(await services.json('dead-letters', 'replay', '--workspace', workspaceId)).toMatchObject({ parked: 1 });
    expect(await services.rms('dead-letters', 'replay', `${data[0].id}`, '999999')).toMatchObject({
      code: 0,
      stdout: '1 dead letters are parked and will be stored again.\n',
      stderr: 'rms: the other IDs do not exist, or are parked already\n',
    });
  });

  test.each([
    [['replay'], 'specify dead letter IDs, --workspace or --all'],
    [['replay', '1', '--all'], 'specify dead letter IDs, --workspace or --all'],
    [['replay', 'x'], 'Expected the ID of a dead letter, a number.'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await services.rms('dead-letters', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
