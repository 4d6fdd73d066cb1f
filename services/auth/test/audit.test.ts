import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from './support.ts';

const alice = { requestId: 'req-1', actor: 'operator:alice@laptop', clientAddress: '198.51.100.7' };

describe('The audit log', () => {
  const auth = perSuite(startAuth);

  const entriesOf = async (workspaceId: string, more: object = {}) =>
    (await auth.audit.listAuditEntries({ workspaceId, pageSize: 100, ...more })).entries;
  const newKeyBy = async (context: object, workspaceId: string) => {
    const requested = {
      workspaceId,
      environment: Environment.LIVE,
      scope: Scope.WRITE,
      name: 'k',
      rateLimitRequests: 5n,
    };
    const { key } = await auth.keys.createKey(requested, { context });
    return { workspaceId, id: key?.id ?? '', key };
  };
  const newWorkspaceBy = async (context: object) =>
    (await auth.workspaces.createWorkspace({ name: 'Audited' }, { context })).workspace?.id ?? '';

  test('contains every change, newest first, with actor, address, request ID and changes', async () => {
    const workspaceId = await newWorkspaceBy(alice);
    const { id } = await newKeyBy(alice, workspaceId);
    const as = (requestId: string) => ({ context: { ...alice, requestId } });
    await auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['10.0.0.0/8'] } }, as('req-2'));
    const { key } = await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(60_000) }, as('req-3'));
    await auth.keys.revokeKey({ workspaceId, id }, as('req-4'));
    await auth.keys.batchRevokeKeys({ requests: [{ workspaceId, id: key?.id ?? '' }] }, as('req-5'));
    await auth.plans.setPlan({ plan: { name: 'pro', monthlyQuota: 5n } }, as('req-6'));
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'pro' }, as('req-7'));

    const expected = [
      ['req-7', 'workspace.plan_set', workspaceId, 'Audited'],
      ['req-5', 'key.revoked', key?.id, 'k'],
      ['req-4', 'key.revoked', id, 'k'],
      ['req-3', 'key.created', key?.id, 'k'],
      ['req-3', 'key.rolled', id, 'k'],
      ['req-2', 'key.updated', id, 'k'],
      ['req-1', 'key.created', id, 'k'],
      ['req-1', 'workspace.created', workspaceId, 'Audited'],
    ];
    const entries = await entriesOf(workspaceId);
    expect(entries.map((one) => [one.requestId, one.action, one.targetId, one.targetName])).toEqual(expected);
    expect(JSON.parse(entries[5]?.changesJson ?? '')).toEqual([
      { field: 'allowed_ips', before: null, after: ['10.0.0.0/8'] },
    ]);
    for (const { actor, address, time, action, environment } of entries) {
      expect([actor, address]).toEqual([alice.actor, alice.clientAddress]);
      expect(time).toBeDefined();
      expect(environment).toBe(action.startsWith('key.') ? Environment.LIVE : Environment.UNSPECIFIED);
    }
    // Plan changes belong to the installation, not to a workspace.
    expect(await entriesOf('', { targetId: 'pro' })).toMatchObject([{ action: 'plan.set', requestId: 'req-6' }]);
  });

  test('an API key acts under its ID, a service as "system"', async () => {
    const workspaceId = await auth.newWorkspace();
    const admin = { workspaceId, environment: Environment.LIVE, scope: Scope.ADMIN, name: 'admin' };
    const keyId = (await auth.keys.createKey(admin, { context: alice })).key?.id ?? '';
    const principal = { workspaceId, environment: Environment.LIVE, keyId, scope: Scope.ADMIN };
    const byKey = await newKeyBy({ principal, clientAddress: '192.0.2.9', requestId: 'r' }, workspaceId);
    const byOperator = await newKeyBy(alice, workspaceId);
    const withoutActor = await newKeyBy({}, workspaceId);
    const created = [byKey, byOperator, withoutActor];
    const actors = [`key:${keyId}`, alice.actor, 'system'];
    expect(created.map(({ key }) => key?.createdBy)).toEqual(actors);
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.map(({ createdBy }) => createdBy).toReversed()).toEqual([alice.actor, ...actors]);
    const entries = await entriesOf(workspaceId, { action: 'key.created' });
    expect(entries.map(({ actor }) => actor).toReversed()).toEqual([alice.actor, ...actors]);
  });

  test('the creator of a rolled key is the actor of the roll', async () => {
    const workspaceId = await auth.newWorkspace();
    const { id } = await newKeyBy({}, workspaceId);
    const { key } = await auth.keys.rollKey({ workspaceId, id }, { context: alice });
    expect(key?.createdBy).toBe(alice.actor);
  });

  test('rejected calls and calls without effect leave no entry', async () => {
    const workspaceId = await auth.newWorkspace();
    const { id } = await newKeyBy(alice, workspaceId);
    await auth.keys.revokeKey({ workspaceId, id });
    const before = await entriesOf(workspaceId);
    await auth.keys.revokeKey({ workspaceId, id });
    await expect(auth.keys.rollKey({ workspaceId, id })).rejects.toMatchObject({ code: 'conflict' });
    await expect(auth.keys.updateKey({ workspaceId, id, name: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(newKeyBy(alice, 'ws_none')).rejects.toMatchObject({ code: 'not_found' });
    expect(await entriesOf(workspaceId)).toEqual(before);
  });

  test('contains a bootstrap, but never the value of a key', async () => {
    const other = await startAuth();
    const { workspace, keyValues, keys } = await other.workspaces.bootstrapWorkspace(
      { name: 'Mine' },
      { context: alice },
    );
    const { entries } = await other.audit.listAuditEntries({ workspaceId: workspace?.id ?? '', pageSize: 10 });
    expect(entries.map(({ action }) => action).toReversed()).toEqual([
      'workspace.created',
      'key.created',
      'key.created',
    ]);
    expect(new Set(entries.map(({ targetId }) => targetId))).toEqual(
      new Set([workspace?.id, ...keys.map(({ id }) => id)]),
    );
    const { rows } = await other.database.pool.query('select * from audit.entries');
    for (const value of keyValues) expect(JSON.stringify(rows)).not.toContain(value.slice(12, -4));
    await other.stop();
  });

  test('a page is filled by several bounded reads, and no entry is lost', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.database.pool.query(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       select $1, '', 'aud_' || lpad(n::text, 26, '0'), 'system', '', '',
              case when n in (1, 5, 15000) then 'key.created' else 'key.updated' end, 'key_' || n, '{}'
         from generate_series(1, 20005) as n`,
      [workspaceId],
    );
    const readAll = async (filter: object) => {
      const targets: string[] = [];
      const sizes: number[] = [];
      let pageToken = '';
      do {
        const page = await auth.audit.listAuditEntries({ workspaceId, pageSize: 1_000, pageToken, ...filter });
        targets.push(...page.entries.map(({ targetId }) => targetId));
        sizes.push(page.entries.length);
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      return { targets, sizes };
    };
    const created = await readAll({ action: 'key.created' });
    expect(created).toEqual({ targets: ['key_15000', 'key_5', 'key_1'], sizes: [3] });
    expect(await readAll({ action: 'webhook.' })).toEqual({ targets: [], sizes: [0] });
    expect((await readAll({ targetId: 'key_7' })).targets).toEqual(['key_7']);
    expect((await readAll({})).targets).toHaveLength(20_006);
  });

  test('is listed by page, target, action and start time, only for its workspace', async () => {
    const workspaceId = await auth.newWorkspace();
    const created = [];
    for (let i = 0; i < 5; i += 1) created.push(await newKeyBy(alice, workspaceId));
    const all = await entriesOf(workspaceId);
    const paged = [];
    for (let pageToken = ''; ; ) {
      const page = await auth.audit.listAuditEntries({ workspaceId, pageSize: 4, pageToken });
      paged.push(...page.entries);
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
    expect(paged).toEqual(all);
    expect(all).toHaveLength(6);
    expect(await entriesOf(workspaceId, { targetId: created[2]?.id })).toMatchObject([{ targetId: created[2]?.id }]);
    expect(await entriesOf(workspaceId, { action: 'key.' })).toHaveLength(5);
    expect(await entriesOf(workspaceId, { action: 'key' })).toHaveLength(0);
    expect(await entriesOf(workspaceId, { action: 'workspace.created' })).toHaveLength(1);
    expect(await entriesOf(workspaceId, { sinceTime: timestampFromMs(Date.now() + 60_000) })).toEqual([]);
    expect(await entriesOf(workspaceId, { sinceTime: timestampFromMs(Date.now() - 60_000) })).toHaveLength(6);
    for (const wrong of [{ pageSize: 0 }, { pageSize: 1_001 }, { pageToken: 'key_1' }]) {
      await expect(entriesOf(workspaceId, wrong)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test.each([
    "update audit.entries set actor = 'nobody'",
    "update audit.entries set actor = 'nobody' where false",
    'delete from audit.entries',
    'truncate audit.entries',
    'truncate audit.entries cascade',
  ])('%s is rejected, even for the owner of the table', async (statement) => {
    const read = () =>
      auth.database.pool.query(`
      select count(*), md5(string_agg(entries::text, '' order by id)) from audit.entries as entries`);
    await newWorkspaceBy(alice);
    const before = (await read()).rows;
    await expect(auth.database.pool.query(statement)).rejects.toMatchObject({ code: '42501' });
    expect((await read()).rows).toEqual(before);
  });
});
