import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { generateApiKey, hashOfApiKey } from '@rms/base/api-key';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { createUseTrim } from '../../src/key/trim-uses.ts';
import { usesKept } from '../../src/key/use-queries.ts';
import { startAuth } from '../support.ts';

const noonMs = Date.UTC(2026, 5, 15, 12);

describe('BatchFindKeys and BatchReportKeyUses', () => {
  const auth = perSuite(startAuth);

  const find = async (...values: string[]) =>
    (await auth.keys.batchFindKeys({ keyHashes: values.map(hashOfApiKey) })).results;
  const useOf = (key: { workspaceId: string; id: string }, more: object = {}) => ({
    workspaceId: key.workspaceId,
    environment: Environment.LIVE,
    keyId: key.id,
    address: '192.0.2.1',
    userAgent: 'curl/8',
    lastUseTime: timestampFromMs(noonMs),
    requests: 1n,
    ...more,
  });
  const stored = async ({ id }: { id: string }) =>
    (await auth.database.pool.query('select from auth.key_uses where key_id = $1', [id])).rowCount;

  test('keys, including revoked keys, are found by hash with their workspace names, in the order of the requests', async () => {
    const [one, two] = [await auth.newKey(), await auth.newKey({ environment: Environment.SANDBOX })];
    await auth.keys.revokeKey(one);
    const found = await find(two.value, generateApiKey('live'), one.value, two.value);
    expect(found.map(({ key }) => key?.id)).toEqual([two.id, undefined, one.id, two.id]);
    expect(found.map(({ workspaceName }) => workspaceName)).toEqual(['Test', '', 'Test', 'Test']);
    expect(found[2]?.key?.revokeTime).toBeDefined();
    expect(found[0]?.key?.uses).toEqual([]);
    expect(await find()).toEqual([]);
    const tooMany = Array.from({ length: 1_001 }, () => new Uint8Array(32));
    await expect(auth.keys.batchFindKeys({ keyHashes: tooMany })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('the most recent refusal of a key is returned with the key, whoever has refused it', async () => {
    const key = await auth.newKey();
    const { id, workspaceId } = key;
    const refusalOf = async () => (await auth.keys.getKey({ workspaceId, id })).key?.lastRefusal;
    expect(await refusalOf()).toBeUndefined();
    const report = (errorCode: string, atMs: number) =>
      auth.keyUses.batchReportKeyUses({
        refusals: [
          { workspaceId, environment: Environment.LIVE, keyId: id, errorCode, refuseTime: timestampFromMs(atMs) },
          {
            workspaceId,
            environment: Environment.LIVE,
            keyId: 'key_unknown',
            errorCode,
            refuseTime: timestampFromMs(atMs),
          },
        ],
      });
    await report('ip_not_allowed', noonMs);
    expect(await refusalOf()).toMatchObject({ errorCode: 'ip_not_allowed', refuseTime: timestampFromMs(noonMs) });
    await report('insufficient_scope', noonMs - 3_600_000);
    await report('insufficient_scope', noonMs + 1_000);
    expect(await refusalOf()).toMatchObject({ errorCode: 'ip_not_allowed' });
    await report('insufficient_scope', noonMs + 61_000);
    expect(await refusalOf()).toMatchObject({ errorCode: 'insufficient_scope' });

    await auth.expireKey(key);
    await auth.verify(key.value);
    await waitUntil(async () => (await refusalOf())?.errorCode === 'api_key_expired', { what: 'the refusal by auth' });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys).toMatchObject([{ lastRefusal: { errorCode: 'api_key_expired' } }]);
  });

  test('uses of a client are summed, and the most recent use wins regardless of the order of reports', async () => {
    const key = await auth.newKey();
    const other = await auth.newKey();
    const report = (...uses: ReturnType<typeof useOf>[]) => auth.keyUses.batchReportKeyUses({ uses });
    await report(useOf(key, { requests: 3n }), useOf(other));
    await report(useOf(key, { requests: 4n, lastUseTime: timestampFromMs(noonMs + 2_000) }));
    await report(
      useOf(key, { requests: 5n, lastUseTime: timestampFromMs(noonMs + 1_000) }),
      useOf(key, { address: '2001:db8::1', userAgent: '', lastUseTime: timestampFromMs(noonMs + 9_000) }),
    );
    const [found] = await find(key.value);
    expect(found?.key?.uses).toMatchObject([
      { address: '2001:db8::1', userAgent: '', requests: 1n, lastUseTime: timestampFromMs(noonMs + 9_000) },
      { address: '192.0.2.1', userAgent: 'curl/8', requests: 12n, lastUseTime: timestampFromMs(noonMs + 2_000) },
    ]);
  });

  test('a use with a time in the future gets the current time', async () => {
    const key = await auth.newKey();
    const inAYear = timestampFromMs(Date.now() + 365 * 86_400_000);
    await auth.keyUses.batchReportKeyUses({ uses: [useOf(key, { lastUseTime: inAYear })] });
    const [found] = await find(key.value);
    expect(timestampMs(found?.key?.uses[0]?.lastUseTime as Timestamp)).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test('concurrent reports of many gateways are all counted', async () => {
    const keys = await Promise.all(Array.from({ length: 10 }, () => auth.newKey()));
    const uses = keys.map((key) => useOf(key));
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        auth.keyUses.batchReportKeyUses({ uses: i % 2 === 0 ? uses : uses.toReversed() }),
      ),
    );
    const found = await find(...keys.map(({ value }) => value));
    expect(found.map(({ key }) => key?.uses[0]?.requests)).toEqual(keys.map(() => 12n));
  });

  test('the 50 most recent clients of each key are stored and returned', async () => {
    const busyKey = await auth.newKey();
    const quiet = await auth.newKey();
    const clients = Array.from({ length: usesKept + 10 }, (_, i) =>
      useOf(busyKey, { address: `10.0.0.${i}`, lastUseTime: timestampFromMs(noonMs + i * 1_000) }),
    );
    await auth.keyUses.batchReportKeyUses({ uses: [...clients, useOf(quiet)] });
    const expected = clients
      .map(({ address }) => address)
      .toReversed()
      .slice(0, usesKept);
    const shown = async () => (await find(busyKey.value))[0]?.key?.uses.map(({ address }) => address);
    expect(await shown()).toEqual(expected);
    expect((await find(quiet.value))[0]?.key?.uses).toHaveLength(1);
    expect(await stored(busyKey)).toBe(usesKept);
    expect(await createUseTrim(auth.database.pool)()).toBe(0);
  });

  test('housekeeping trims keys with many thousands of clients', async () => {
    const busyKey = [await auth.newKey(), await auth.newKey({ environment: Environment.SANDBOX })];
    const quiet = await auth.newKey();
    await auth.keyUses.batchReportKeyUses({ uses: [useOf(quiet)] });
    for (const { workspaceId, id, key } of busyKey) {
      await auth.database.pool.query(
        `insert into auth.key_uses (workspace_id, environment, key_id, address, user_agent, last_used_at, requests)
         select $1, $2, $3, 'client ' || n, '', now() - n * interval '1 second', 1 from generate_series(1, 20000) as n`,
        [workspaceId, key.environment === Environment.LIVE ? 'live' : 'sandbox', id],
      );
    }
    expect(await createUseTrim(auth.database.pool)()).toBe(2 * (20_000 - usesKept));
    for (const key of busyKey) {
      expect(await stored(key)).toBe(usesKept);
      const [found] = await find(key.value);
      expect(found?.key?.uses.map(({ address }) => address)).toEqual(
        Array.from({ length: usesKept }, (_, i) => `client ${i + 1}`),
      );
    }
    expect(await stored(quiet)).toBe(1);
    expect(await createUseTrim(auth.database.pool)()).toBe(0);
  });

  test('long texts are truncated, a missing environment is rejected, and an empty report is accepted', async () => {
    const key = await auth.newKey();
    await auth.keyUses.batchReportKeyUses({ uses: [useOf(key, { userAgent: 'x'.repeat(1_000) })] });
    expect((await find(key.value))[0]?.key?.uses[0]?.userAgent).toBe('x'.repeat(256));
    await auth.keyUses.batchReportKeyUses({ uses: [] });
    await expect(
      auth.keyUses.batchReportKeyUses({ uses: [useOf(key, { environment: Environment.UNSPECIFIED })] }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
