import { toJson } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { KeyStatus } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('ListKeys', () => {
  const auth = perSuite(startAuth);

  test('returns the keys of both environments, newest first, without their values', async () => {
    const live = await auth.newKey({ name: 'live' });
    const { workspaceId } = live;
    const sandbox = await auth.newKey({ workspaceId, environment: Environment.SANDBOX, name: 'sandbox' });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.map(({ id }) => id)).toEqual([sandbox.id, live.id]);
    expect(keys[1]?.hint).toBe(`${live.value.slice(0, 12)}…${live.value.slice(-4)}`);
    const listed = JSON.stringify(keys.map((key) => toJson(KeySchema, key)));
    for (const { value } of [live, sandbox]) expect(listed).not.toContain(value.slice(12, -4));

    const ofSandbox = await auth.keys.listKeys({ workspaceId, environment: Environment.SANDBOX });
    expect(ofSandbox.keys.map(({ id }) => id)).toEqual([sandbox.id]);
  });

  test('returns the revocation and roll times, and the replacements of rolled keys', async () => {
    const { workspaceId, id } = await auth.newKey();
    const revoked = await auth.newKey({ workspaceId });
    const { key } = await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    await auth.keys.revokeKey({ workspaceId, id: revoked.id });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.map((one) => [one.id, Boolean(one.revokeTime), Boolean(one.rollTime), one.replacedById])).toEqual([
      [key?.id, false, false, ''],
      [revoked.id, true, false, ''],
      [id, false, true, key?.id],
    ]);
  });

  test('the status is the first that applies of revoked, expired and rolled', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.database.pool.query(
      `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, revoked_at, expires_at, rolled_at)
       select $1, 'live', 'key_' || lpad(n::text, 26, '0'), sha256(($1 || n)::bytea), '', n::text, 'read',
              case when n & 1 > 0 then now() end, now() + case when n & 2 > 0 then interval '-1 hour' else '1 hour' end,
              case when n & 4 > 0 then now() end
         from generate_series(0, 7) as n`,
      [workspaceId],
    );
    const named = async (status: KeyStatus) =>
      (await auth.keys.listKeys({ workspaceId, status })).keys.map(({ name }) => Number(name)).sort();
    expect(await named(KeyStatus.REVOKED)).toEqual([1, 3, 5, 7]);
    expect(await named(KeyStatus.EXPIRED)).toEqual([2, 6]);
    expect(await named(KeyStatus.ROLLED)).toEqual([4]);
    expect(await named(KeyStatus.ACTIVE)).toEqual([0]);
  });

  test('pages have no gaps, for both environments together and for one', async () => {
    const workspaceId = await auth.newWorkspace();
    const created: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      created.unshift(
        (await auth.newKey({ workspaceId, environment: i % 2 ? Environment.SANDBOX : Environment.LIVE })).id,
      );
    }
    const pagesOf = async (requested: object) => {
      const pages: string[][] = [];
      for (let pageToken = ''; ; ) {
        const { keys, nextPageToken } = await auth.keys.listKeys({ workspaceId, pageSize: 2, pageToken, ...requested });
        pages.push(keys.map(({ id }) => id));
        pageToken = nextPageToken;
        if (pageToken === '') return pages;
      }
    };
    expect(await pagesOf({})).toEqual([created.slice(0, 2), created.slice(2, 4), created.slice(4)]);
    expect(await pagesOf({ environment: Environment.SANDBOX })).toEqual([[created[1], created[3]]]);
    for (const requested of [{ pageSize: -1 }, { pageSize: 1_001 }, { pageToken: 'key_' }]) {
      await expect(auth.keys.listKeys({ workspaceId, ...requested })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });

  test('a page of valid keys reads on after 10,000 keys that are not valid', async () => {
    const valid = await auth.newKey();
    const { workspaceId } = valid;
    await auth.database.pool.query(
      `insert into auth.keys (workspace_id, environment, id, hash, hint, name, scope, expires_at)
       select $1, 'live', 'key_z' || lpad(n::text, 25, '0'), sha256(($1 || n)::bytea), '', 'ended', 'read',
              now() - interval '1 hour'
         from generate_series(1, 10050) as n`,
      [workspaceId],
    );
    const request = { workspaceId, environment: Environment.LIVE, validOnly: true, pageSize: 10 };
    const { keys } = await auth.keys.listKeys(request);
    expect(keys.map(({ id }) => id)).toEqual([valid.id]);
  });

  test('filters by validity and by own limits', async () => {
    const limited = await auth.newKey({ rateLimitRequests: 5n });
    const { workspaceId } = limited;
    const [plain, revoked, rolled] = [
      await auth.newKey({ workspaceId }),
      await auth.newKey({ workspaceId, rateLimitRequests: 5n }),
      await auth.newKey({ workspaceId }),
    ];
    await auth.keys.revokeKey({ workspaceId, id: revoked.id });
    const { key: next } = await auth.keys.rollKey({ workspaceId, id: rolled.id });
    const listed = async (requested: object) =>
      (await auth.keys.listKeys({ workspaceId, ...requested })).keys.map(({ id }) => id);
    expect(await listed({ validOnly: true })).toEqual([next?.id, plain.id, limited.id]);
    expect(await listed({ ownLimitOnly: true })).toEqual([revoked.id, limited.id]);
    expect(await listed({ ownLimitOnly: true, validOnly: true })).toEqual([limited.id]);
  });

  test('GetKey finds a key by ID in its workspace and environment only', async () => {
    const { workspaceId, id, key } = await auth.newKey();
    expect((await auth.keys.getKey({ workspaceId, id })).key).toEqual(key);
    expect((await auth.keys.getKey({ workspaceId, id, environment: Environment.LIVE })).key?.id).toBe(id);
    for (const requested of [
      { workspaceId, id, environment: Environment.SANDBOX },
      { workspaceId: await auth.newWorkspace(), id },
      { workspaceId, id: 'key_none' },
    ]) {
      await expect(auth.keys.getKey(requested)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test('does not return keys of other workspaces', async () => {
    await auth.newKey();
    expect((await auth.keys.listKeys({ workspaceId: await auth.newWorkspace() })).keys).toEqual([]);
  });
});
