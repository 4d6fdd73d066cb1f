import { firstId, newId } from '@rms/base/ids';
import { actorOf } from '@rms/rpc';
import { perSuite, testDatabase } from '@rms/testkit';
import {
  type AuditOrigin,
  appendAudit,
  type ChangeAction,
  changesBetween,
  listAudit,
  migrations,
} from '../../src/audit/index.ts';

describe('The audit log', () => {
  const database = perSuite(() => testDatabase([migrations]));

  const origin: AuditOrigin = { actor: 'operator:alice@laptop', actorName: '', clientAddress: '', requestId: 'req_1' };
  const target = { id: 'key_1', name: 'ci' };
  const changes = changesBetween<{ name?: string }>({ name: 'shown' }, {}, { name: 'Grüße "quoted"' });
  const everything = { targetId: '', action: '', since: undefined, start: undefined, limit: 100 };

  test('lists appended entries, newest first, per workspace and for the installation', async () => {
    const named = { ...origin, actor: 'user:usr_1', actorName: 'ann@example.com' };
    const inLive = { workspaceId: 'ws_1', environment: 'live' as const, target };
    await appendAudit(database.pool, named, [
      { ...inLive, action: 'key.created', changes, details: { by: 'hand' } },
      { ...inLive, action: 'webhook.tested' },
    ]);
    await appendAudit(database.pool, origin, [
      { workspaceId: '', action: 'plan.set', target: { id: 'gold', name: 'gold' }, changes },
    ]);
    await appendAudit(database.pool, origin, []);
    const entries = await listAudit(database.pool, { ...everything, workspaceId: 'ws_1' });
    const by = { actor: 'user:usr_1', actorName: 'ann@example.com', environment: 'live' };
    const changed = [{ field: 'name', before: null, after: 'Grüße "quoted"' }];
    expect(entries).toMatchObject([
      { ...by, action: 'webhook.tested', targetId: 'key_1', targetName: 'ci', changes: [], details: {} },
      { ...by, action: 'key.created', targetId: 'key_1', changes: changed, details: { by: 'hand' } },
    ]);
    const [installation] = await listAudit(database.pool, { ...everything, workspaceId: '' });
    expect(installation).toMatchObject({ targetId: 'gold', environment: undefined, actor: 'operator:alice@laptop' });
  });

  test('lists the entries of a request, also behind 10,000 newer ones', async () => {
    const workspaceId = 'ws_request';
    const requestId = newId('req');
    const entry = { workspaceId, target, action: 'key.created', changes } as const;
    await appendAudit(database.pool, { ...origin, requestId }, [entry]);
    await appendAudit(database.pool, { ...origin, requestId: newId('req') }, [entry]);
    await database.pool.query(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       select $1, '', $2 || lpad(g::text, 16, '0'), 'system', '', '', 'plan.set', 'gold', '{}'
         from generate_series(1, 10000) g`,
      [workspaceId, firstId('aud', Date.now() + 7_200_000)],
    );
    const found = await listAudit(database.pool, { ...everything, workspaceId, requestId });
    expect(found).toMatchObject([{ action: 'key.created', requestId }]);
    const later = newId('req', Date.now() + 7_200_000);
    expect(await listAudit(database.pool, { ...everything, workspaceId, requestId: later })).toEqual([]);
  });

  test('has no entry for a change that changed nothing', async () => {
    const unchanged = changesBetween<{ name?: string }>({ name: 'shown' }, { name: 'ci' }, { name: 'ci' });
    await appendAudit(database.pool, origin, [
      { workspaceId: 'ws_unchanged', target, action: 'key.updated', changes: unchanged },
    ]);
    expect(await listAudit(database.pool, { ...everything, workspaceId: 'ws_unchanged' })).toEqual([]);
  });

  test('lists entries of earlier releases, which have no changes and no names', async () => {
    await database.pool.query(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       values ('ws_old', '', 'aud_01', 'system', '', '', 'plan.set', 'gold', '{"monthly_quota": 3}')`,
    );
    expect(await listAudit(database.pool, { ...everything, workspaceId: 'ws_old' })).toMatchObject([
      { actorName: '', targetId: 'gold', targetName: '', changes: [], details: { monthly_quota: 3 } },
    ]);
  });

  test('entries of earlier versions for canceled replays have the current spelling, also in filters', async () => {
    await database.pool.query(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       values ('ws_replay', 'live', 'aud_01', 'system', '', '', 'replay.cancelled', 'rpl_1', '{}')`,
    );
    const inWorkspace = { ...everything, workspaceId: 'ws_replay' };
    for (const action of ['', 'replay.canceled', 'replay.']) {
      const entries = await listAudit(database.pool, { ...inWorkspace, action });
      expect(entries).toMatchObject([{ action: 'replay.canceled', targetId: 'rpl_1' }]);
    }
  });

  test('filters by target, action, action prefix and time, and continues after an entry', async () => {
    const workspaceId = 'ws_2';
    for (const [action, targetId] of [
      ['key.created', 'key_1'],
      ['key_.created' as 'key.created', 'key_1'],
      ['webhook.created', 'wh_1'],
    ] as const) {
      await appendAudit(database.pool, origin, [{ workspaceId, action, target: { id: targetId, name: '' }, changes }]);
    }
    const actions = async (filter: object) =>
      (await listAudit(database.pool, { ...everything, workspaceId, ...filter })).map(({ action }) => action);
    expect(await actions({ targetId: 'key_1' })).toEqual(['key_.created', 'key.created']);
    expect(await actions({ action: 'key.' })).toEqual(['key.created']);
    expect(await actions({ action: 'key' })).toEqual([]);
    expect(await actions({ since: new Date(Date.now() + 60_000) })).toEqual([]);
    const [newest] = await listAudit(database.pool, { ...everything, workspaceId, limit: 1 });
    const start = (direction: string) => ({ start: { direction, keys: [newest?.id], page: 2 } });
    expect(await actions(start('after'))).toEqual(['key_.created', 'key.created']);
    expect(await actions(start('before'))).toEqual([]);
    expect(await actions({ start: { direction: 'before', keys: ['aud_0'], page: 1 }, limit: 2 })).toEqual([
      'key_.created',
      'key.created',
    ]);
  });

  test('filters by actor, end time and environment, which includes entries of both environments', async () => {
    const workspaceId = 'ws_3';
    const entry = (action: ChangeAction, environment?: 'live' | 'sandbox') => [
      { workspaceId, action, target, changes, environment },
    ];
    await appendAudit(database.pool, origin, entry('key.created', 'live'));
    await appendAudit(database.pool, { ...origin, actor: 'user:usr_1' }, entry('key.updated', 'sandbox'));
    await appendAudit(database.pool, origin, entry('workspace.plan_set'));
    const actions = async (filter: object) =>
      (await listAudit(database.pool, { ...everything, workspaceId, ...filter })).map(({ action }) => action);
    expect(await actions({ environment: 'live' })).toEqual(['workspace.plan_set', 'key.created']);
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
