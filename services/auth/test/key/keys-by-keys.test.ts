import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type CreateKeyRequestSchema, KeyStatus } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

const hour = durationFromMs(3_600_000);

describe('API keys managed by an API key', () => {
  const auth = perSuite(startAuth);

  /** Returns a new key and the context for its calls. */
  const caller = async (scope: Scope, workspaceId?: string) => {
    const made = await auth.newKey({ scope, ...(workspaceId ? { workspaceId } : {}) });
    const tenant = { workspaceId: made.workspaceId, environment: Environment.LIVE };
    return { ...made, tenant, as: { context: { principal: { ...tenant, keyId: made.id, scope } } } };
  };
  type Asked = MessageInitShape<typeof CreateKeyRequestSchema>;
  const asked = (tenant: object, more: Asked = {}): Asked => ({ ...tenant, scope: Scope.READ, name: 'made', ...more });
  const count = async (workspaceId: string) => (await auth.keys.listKeys({ workspaceId })).keys.length;

  test('a key cannot create a key with more than its own scope', async () => {
    const { tenant, as } = await caller(Scope.WRITE);
    await expect(auth.keys.createKey(asked(tenant, { scope: Scope.ADMIN }), as)).rejects.toMatchObject({
      code: 'insufficient_scope',
      message: 'A key with scope `write` cannot create or change a key with scope `admin`.',
    });
    expect(await count(tenant.workspaceId)).toBe(1);
    const { key } = await auth.keys.createKey(asked(tenant, { scope: Scope.WRITE }), as);
    expect(key).toMatchObject({ scope: Scope.WRITE, createdBy: `key:${as.context.principal.keyId}` });
  });

  test('a key cannot create a restricted key with a permission that it lacks', async () => {
    const { tenant, as } = await caller(Scope.WRITE);
    const restricted = (...permissions: string[]) =>
      auth.keys.createKey(asked(tenant, { scope: Scope.UNSPECIFIED, permissions }), as);
    await expect(restricted('resources:write', 'webhooks:read')).rejects.toMatchObject({
      code: 'insufficient_scope',
      message: 'A key without the permission `webhooks:read` cannot create or change a key that has it.',
    });
    const { key } = await restricted('resources:write', 'events:read', 'resources:write');
    expect(key).toMatchObject({ scope: Scope.UNSPECIFIED, permissions: ['events:read', 'resources:write'] });
  });

  test('a key cannot roll a key with more than its own scope', async () => {
    const { tenant, as, workspaceId } = await caller(Scope.WRITE);
    const admin = await auth.newKey({ scope: Scope.ADMIN, workspaceId });
    await expect(auth.keys.rollKey({ ...tenant, id: admin.id }, as)).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
  });

  test('a key cannot create a key in another environment or workspace', async () => {
    const { tenant, as } = await caller(Scope.ADMIN);
    const others = [
      { ...tenant, environment: Environment.SANDBOX },
      { ...tenant, workspaceId: await auth.newWorkspace() },
    ];
    for (const other of others) {
      await expect(auth.keys.createKey(asked(other), as)).rejects.toMatchObject({ code: 'invalid_api_key' });
    }
  });

  test('a key that is no longer valid creates and rolls nothing', async () => {
    const { tenant, as, id, workspaceId } = await caller(Scope.ADMIN);
    const other = await auth.newKey({ workspaceId });
    await auth.keys.revokeKey({ ...tenant, id });
    for (const call of [
      () => auth.keys.createKey(asked(tenant), as),
      () => auth.keys.rollKey({ ...tenant, id: other.id }, as),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'invalid_api_key' });
    }
    const rolled = await caller(Scope.ADMIN, workspaceId);
    await auth.keys.rollKey({ ...tenant, id: rolled.id });
    await expect(auth.keys.createKey(asked(tenant), rolled.as)).rejects.toMatchObject({ code: 'api_key_expired' });
  });

  test('no key is created after the revocation of the key that creates it', async () => {
    const { tenant, as, id, workspaceId } = await caller(Scope.ADMIN);
    const creations = Promise.allSettled(Array.from({ length: 10 }, () => auth.keys.createKey(asked(tenant), as)));
    await auth.keys.revokeKey({ ...tenant, id });
    const atRevocation = await count(workspaceId);
    await creations;
    expect(await count(workspaceId)).toBe(atRevocation);
  });

  test('two keys that roll each other concurrently do not deadlock', async () => {
    const first = await caller(Scope.ADMIN);
    const second = await caller(Scope.ADMIN, first.workspaceId);
    const rolls = await Promise.all([
      auth.keys.rollKey({ ...first.tenant, id: second.id, overlap: hour }, first.as),
      auth.keys.rollKey({ ...first.tenant, id: first.id, overlap: hour }, second.as),
    ]);
    expect(rolls.map(({ keyValue }) => keyValue.length > 0)).toEqual([true, true]);
  });

  test('a repeated create with the idempotency key returns the same key, with its value only to the same caller', async () => {
    const { tenant, as, workspaceId } = await caller(Scope.ADMIN);
    const other = await caller(Scope.ADMIN, workspaceId);
    const create = (by = as, more: Asked = {}) =>
      auth.keys.createKey(asked(tenant, { idempotencyKey: 'once', allowedIps: ['10.0.0.1', '10.0.0.2'], ...more }), by);
    const answers = await Promise.all(Array.from({ length: 5 }, () => create()));
    expect(new Set(answers.map(({ key, keyValue }) => `${key?.id} ${keyValue}`)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    const [first] = answers;
    expect(await create(other.as)).toMatchObject({ key: { id: first?.key?.id }, keyValue: '', replayed: true });
    expect((await create(as, { allowedIps: ['10.0.0.2', '10.0.0.1'] })).replayed).toBe(true);
    await expect(create(as, { name: 'other' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    const sandbox = await auth.keys.createKey(
      asked({ ...tenant, environment: Environment.SANDBOX }, { idempotencyKey: 'once' }),
    );
    expect(sandbox.replayed).toBe(false);
    const { rows } = await auth.database.pool.query('select t::text as row from auth.idempotency_keys as t');
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(first?.keyValue ?? '').toString('hex'));
  });

  test('a repeated roll with the idempotency key returns the same key, and a failed one does not use it up', async () => {
    const { tenant, as, id, workspaceId } = await caller(Scope.ADMIN);
    const other = await caller(Scope.ADMIN, workspaceId);
    const roll = (by = as, overlap = hour) => auth.keys.rollKey({ ...tenant, id, overlap, idempotencyKey: 'once' }, by);
    await expect(roll(as, durationFromMs(-1))).rejects.toMatchObject({ code: 'invalid_request' });
    const first = await roll();
    expect(await roll()).toEqual({ ...first, replayed: true });
    expect(await roll(other.as)).toEqual({ ...first, replayed: true, keyValue: '' });
    await expect(roll(as, durationFromMs(1))).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await expect(
      auth.keys.rollKey({ workspaceId, id, idempotencyKey: 'without an environment' }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('an idempotency key is free again after 24 hours', async () => {
    const { tenant, as } = await caller(Scope.ADMIN);
    const create = () => auth.keys.createKey(asked(tenant, { idempotencyKey: 'daily' }), as);
    const first = await create();
    await auth.database.pool.query(
      "update auth.idempotency_keys set expires_at = expires_at - interval '24 hours 1 second'",
    );
    const second = await create();
    expect([second.replayed, second.key?.id === first.key?.id]).toEqual([false, false]);
  });

  test('a key of the other environment is not found', async () => {
    const { tenant, id } = await caller(Scope.READ);
    const ref = { ...tenant, environment: Environment.SANDBOX, id };
    for (const call of [
      () => auth.keys.updateKey({ ...ref, name: 'x' }),
      () => auth.keys.revokeKey(ref),
      () => auth.keys.rollKey(ref),
      () => auth.keys.getKey(ref),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('a change or revocation is refused unless the key has an expected version', async () => {
    const { tenant, id } = await caller(Scope.READ);
    const ref = { ...tenant, id };
    const version = (await auth.keys.getKey(ref)).key?.version ?? 0n;
    const { key } = await auth.keys.updateKey({ ...ref, name: 'x', expectedVersions: [version] });
    expect(key?.version).toBeGreaterThan(version);
    for (const call of [
      () => auth.keys.updateKey({ ...ref, name: 'y', expectedVersions: [version] }),
      () => auth.keys.revokeKey({ ...ref, expectedVersions: [version, -1n] }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'precondition_failed' });
    }
    const { key: same } = await auth.keys.getKey(ref);
    expect([same?.name, same?.revokeTime]).toEqual(['x', undefined]);
    await auth.keys.revokeKey({ ...ref, expectedVersions: [version, key?.version ?? 0n] });
  });

  test('a page of a filtered list is filled by several bounded reads, in both directions', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.database.pool.query(
      `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, revoked_at)
       select $1, 'live', 'key_' || lpad(n::text, 26, '0'), sha256(($1 || n)::bytea), '', 'key ' || n, 'read',
              case when n in (1, 5, 15000) then null else now() end
         from generate_series(1, 20005) as n`,
      [workspaceId],
    );
    const walk = async (from: 'nextPageToken' | 'previousPageToken', start = '') => {
      const pages: string[][] = [];
      let last = '';
      for (let pageToken = start; ; last = pageToken) {
        const page = await auth.keys.listKeys({ workspaceId, status: KeyStatus.ACTIVE, pageSize: 2, pageToken });
        pages.push(page.keys.map(({ name }) => name));
        if (page[from] === '') return { pages, last };
        last = pageToken;
        pageToken = page[from];
      }
    };
    const { pages, last } = await walk('nextPageToken');
    expect(pages).toEqual([['key 15000', 'key 5'], ['key 1']]);
    expect((await walk('previousPageToken', last)).pages).toEqual([['key 1'], ['key 15000', 'key 5']]);
    const named = await auth.keys.listKeys({ workspaceId, namePart: 'KEY 2', pageSize: 10 });
    expect(named.keys.map(({ name }) => name)).toHaveLength(10);
  });
});
