import { describeDeletion } from '@rms/postgres/workspace-deletion/describe-deletion';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/auth/v1/workspace_deletion_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite, rowsOfWorkspace } from '@rms/testkit';
import { contents } from '../../src/deletion/contents.ts';
import { createHousekeeping } from '../../src/housekeeping.ts';
import { authDatabase } from '../support.ts';
import { as, newEmail, startAccounts } from '../user-support.ts';

const operator = { context: { actor: 'operator:alice@laptop', requestId: 'req-delete' } };

describeDeletion({
  contents,
  createDatabase: authDatabase,
  housekeep: (pool, signal) => {
    const log = createLogger({ name: 'test', level: 'silent' });
    return createHousekeeping({ pool, log, requestLogDays: 7, metrics: createMetrics('auth') }).run(signal);
  },
});

describe('the methods for the deletion of a workspace', () => {
  const auth = perSuite(startAccounts);
  const deletion = perSuite(() => createClient(WorkspaceDeletionService, { target: auth.address, timeoutMs: 60_000 }));

  /** Creates a workspace with two keys, an owner and an invitation. */
  const newWorkspace = async () => {
    const owner = await auth.newUser();
    const { workspaceId } = owner;
    const keys = [
      await auth.newKey({ workspaceId }),
      await auth.newKey({ workspaceId, environment: Environment.SANDBOX }),
    ];
    await auth.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER }, as(owner));
    return { workspaceId, owner, keys };
  };
  const deleteAll = async (workspaceId: string) => {
    await deletion.beginDeletion({ workspaceId }, operator);
    const { deleted, nextPageToken } = await deletion.deleteContents({ workspaceId }, operator);
    expect(nextPageToken).toBe('');
    await deletion.completeDeletion({ workspaceId, deleted }, operator);
    return deleted;
  };

  test('only an empty workspace is deleted as empty; revoked keys do not count', async () => {
    const { workspaceId, owner, keys } = await newWorkspace();
    const count = async () => (await deletion.countContents({ workspaceId })).counts;
    expect(await count()).toEqual({ keys: 2n, members: 1n, invitations: 1n });
    await expect(deletion.beginDeletion({ workspaceId, onlyIfEmpty: true })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect((await auth.verify(keys[0]?.value ?? ''))?.verdict).toBe(KeyVerdict.VALID);
    expect((await auth.workspaces.getWorkspace({ workspaceId }, as(owner))).workspace?.id).toBe(workspaceId);

    for (const { id } of keys) await auth.keys.revokeKey({ workspaceId, id });
    await auth.db.query('delete from auth.memberships where workspace_id = $1', [workspaceId]);
    await auth.db.query('delete from auth.invitations where workspace_id = $1', [workspaceId]);
    expect(await count()).toEqual({ keys: 0n, members: 0n, invitations: 0n });
    await deletion.beginDeletion({ workspaceId, onlyIfEmpty: true });
  });

  test('from its first step, no gateway accepts a key, and no member, operator or service sees the workspace', async () => {
    const { workspaceId, owner, keys } = await newWorkspace();
    await deletion.beginDeletion({ workspaceId }, operator);
    for (const { id, value, key } of keys) {
      expect((await auth.verify(value, key.environment))?.verdict).toBe(KeyVerdict.INVALID);
      expect(auth.marked()).toContain(id);
    }
    const { workspaces, members, invitations, users } = auth;
    const missing = { code: 'not_found' };
    await expect(workspaces.getWorkspace({ workspaceId }, as(owner))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    expect((await workspaces.listWorkspaces({}, as(owner))).workspaces).toEqual([]);
    await expect(workspaces.getWorkspace({ workspaceId })).rejects.toMatchObject(missing);
    await expect(workspaces.setWorkspacePlan({ workspaceId, plan: '' })).rejects.toMatchObject(missing);
    expect((await members.listMembers({ workspaceId })).members).toEqual([]);
    const listed = async (includeDeleting: boolean) =>
      (await workspaces.listWorkspaces({ includeDeleting })).workspaces.find(({ id }) => id === workspaceId);
    expect(await listed(false)).toBeUndefined();
    expect((await listed(true))?.deletionStartTime).toBeDefined();

    const key = { workspaceId, environment: Environment.LIVE, scope: Scope.READ, name: 'late' };
    await expect(auth.keys.createKey(key)).rejects.toMatchObject(missing);
    await expect(auth.keys.rollKey({ workspaceId, id: keys[0]?.id ?? '' })).rejects.toMatchObject(missing);
    const user = { workspaceId, email: newEmail(), role: Role.OWNER };
    await expect(users.createUser(user)).rejects.toMatchObject(missing);
    await expect(invitations.createInvitation(user)).rejects.toMatchObject(missing);
  });

  test('a key or member that is being added when the deletion begins is deleted with it, or refused', async () => {
    const { workspaceId } = await newWorkspace();
    const key = { workspaceId, environment: Environment.LIVE, scope: Scope.READ, name: 'concurrent' };
    const added = [
      ...Array.from({ length: 5 }, () => auth.keys.createKey(key)),
      ...Array.from({ length: 5 }, () => auth.users.createUser({ workspaceId, email: newEmail(), role: Role.VIEWER })),
    ];
    const [outcomes] = await Promise.all([
      Promise.allSettled(added),
      deletion.beginDeletion({ workspaceId }, operator),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'not_found' });
    }
    expect((await deletion.countContents({ workspaceId })).counts).toEqual({ keys: 0n, members: 0n, invitations: 0n });
  });

  test('a repeated first step revokes the keys that an interrupted one has left', async () => {
    const { workspaceId, keys } = await newWorkspace();
    await auth.db.query('update auth.workspaces set deletion_started_at = now() where id = $1', [workspaceId]);
    await deletion.beginDeletion({ workspaceId }, operator);
    for (const { value, key } of keys) {
      expect((await auth.verify(value, key.environment))?.verdict).toBe(KeyVerdict.INVALID);
    }
    expect(await auth.pendingMarkers()).toBe(0);
  });

  test('the audit log keeps its entries, and names the operator, the workspace and the numbers of deleted rows', async () => {
    const { workspaceId, owner } = await newWorkspace();
    const before = await auth.audited(workspaceId, '');
    const deleted = await deleteAll(workspaceId);
    expect(deleted).toMatchObject({ 'auth.keys': 2n });
    expect(await rowsOfWorkspace(auth.db, workspaceId)).toMatchObject({ 'auth.keys': [], 'auth.memberships': [] });
    const after = await auth.audited(workspaceId, '');
    expect(after.slice(0, before.length)).toEqual(before);
    const by = { actor: 'operator:alice@laptop', targetId: workspaceId };
    const rows = expect.objectContaining({ 'auth.keys': 2 });
    const ended = { ...by, action: 'workspace.deleted', name: 'Test', rows };
    expect(after.slice(before.length)).toEqual([
      { ...by, action: 'workspace.deletion_started', keys: 2, members: 1, invitations: 1 },
      ended,
    ]);
    expect(await auth.audited('', 'workspace.')).toContainEqual(ended);
    // The user keeps the account.
    const { user, memberships } = await auth.tryPassword(owner.email, owner.password);
    expect([user?.id, memberships]).toEqual([owner.id, []]);
    await expect(deletion.beginDeletion({ workspaceId })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a user of another workspace remains its member', async () => {
    const { workspaceId, owner } = await newWorkspace();
    const other = await auth.newWorkspace();
    await auth.users.createUser({ workspaceId: other, email: owner.email, role: Role.VIEWER });
    await deleteAll(workspaceId);
    const { workspaces } = await auth.workspaces.listWorkspaces({}, as(owner));
    expect(workspaces.map(({ id }) => id)).toEqual([other]);
  });

  test('later steps are refused unless the deletion has begun', async () => {
    const { workspaceId, keys } = await newWorkspace();
    const refused = { code: 'conflict', message: 'The deletion of the workspace has not begun.' };
    await expect(deletion.deleteContents({ workspaceId })).rejects.toMatchObject(refused);
    await expect(deletion.completeDeletion({ workspaceId })).rejects.toMatchObject(refused);
    expect((await auth.verify(keys[0]?.value ?? ''))?.verdict).toBe(KeyVerdict.VALID);
  });
});
