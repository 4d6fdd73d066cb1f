import { type TestDatabase, testDatabase } from '@rms/testkit';
import { type AuditOrigin, actorOf, appendAudit, listAudit, migrations } from '../src/index.ts';

describe('The audit log', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase([migrations]);
  });
  afterAll(() => database?.drop());

  const origin = { actor: 'operator:alice@laptop', clientAddress: '', requestId: 'req_1' } as AuditOrigin;
  const everything = { targetId: '', action: '', since: undefined, start: undefined, limit: 100 };

  test('lists appended entries, newest first, per workspace and for the installation', async () => {
    const change = { workspaceId: 'ws_1', environment: 'live' as const, targetId: 'key_1' };
    await appendAudit(database.pool, origin, [
      { ...change, action: 'key.created', details: { name: 'Grüße "quoted"' } },
      { ...change, action: 'key.revoked' },
    ]);
    await appendAudit(database.pool, origin, [{ workspaceId: '', action: 'plan.set', targetId: 'gold' }]);
    await appendAudit(database.pool, origin, []);
    const entries = await listAudit(database.pool, { ...everything, workspaceId: 'ws_1' });
    expect(entries.map(({ action, environment, details }) => [action, environment, details])).toEqual([
      ['key.revoked', 'live', {}],
      ['key.created', 'live', { name: 'Grüße "quoted"' }],
    ]);
    const [installation] = await listAudit(database.pool, { ...everything, workspaceId: '' });
    expect(installation).toMatchObject({ targetId: 'gold', environment: undefined, actor: 'operator:alice@laptop' });
  });

  test('filters by target, action, action prefix and time, and continues after an entry', async () => {
    const workspaceId = 'ws_2';
    for (const [action, targetId] of [
      ['key.created', 'key_1'],
      ['keys_imported', 'key_1'],
      ['webhook.created', 'wh_1'],
    ] as const) {
      await appendAudit(database.pool, origin, [{ workspaceId, action, targetId }]);
    }
    const actions = async (filter: object) =>
      (await listAudit(database.pool, { ...everything, workspaceId, ...filter })).map(({ action }) => action);
    expect(await actions({ targetId: 'key_1' })).toEqual(['keys_imported', 'key.created']);
    expect(await actions({ action: 'key.' })).toEqual(['key.created']);
    expect(await actions({ action: 'key' })).toEqual([]);
    expect(await actions({ since: new Date(Date.now() + 60_000) })).toEqual([]);
    const [newest] = await listAudit(database.pool, { ...everything, workspaceId, limit: 1 });
    const start = (direction: string) => ({ start: { direction, keys: [newest?.id], page: 2 } });
    expect(await actions(start('after'))).toEqual(['keys_imported', 'key.created']);
    expect(await actions(start('before'))).toEqual([]);
    expect(await actions({ start: { direction: 'before', keys: ['aud_0'], page: 1 }, limit: 2 })).toEqual([
      'keys_imported',
      'key.created',
    ]);
  });

  test('filters by actor, end time and environment, which includes entries of both environments', async () => {
    const workspaceId = 'ws_3';
    const entry = (action: string, environment?: 'live' | 'sandbox') => [
      { workspaceId, action, targetId: 'key_1', environment },
    ];
    await appendAudit(database.pool, origin, entry('key.created', 'live'));
    await appendAudit(database.pool, { ...origin, actor: 'user:usr_1' }, entry('key.updated', 'sandbox'));
    await appendAudit(database.pool, origin, entry('workspace.updated'));
    const actions = async (filter: object) =>
      (await listAudit(database.pool, { ...everything, workspaceId, ...filter })).map(({ action }) => action);
    expect(await actions({ environment: 'live' })).toEqual(['workspace.updated', 'key.created']);
    expect(await actions({ actor: 'user:usr_1' })).toEqual(['key.updated']);
    expect(await actions({ until: new Date(Date.now() - 60_000) })).toEqual([]);
    expect(await actions({ until: new Date(Date.now() + 60_000) })).toHaveLength(3);
  });

  test.each([
    ['update', `update audit.entries set actor = 'nobody'`],
    ['delete', 'delete from audit.entries'],
    ['truncate', 'truncate audit.entries'],
  ])('rejects %s, even by the owner of the table', async (_, sql) => {
    await expect(database.pool.query(sql)).rejects.toMatchObject({ code: '42501' });
  });

  test.each([
    ['an operator', { actor: 'operator:a@b' }, 'operator:a@b'],
    ['a key', { actor: '', principal: { keyId: 'key_1' } }, 'key:key_1'],
    ['a service itself', { actor: '' }, 'system'],
  ])('names %s', (_, who, name) => {
    expect(actorOf(who as AuditOrigin)).toBe(name);
  });
});
