import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { generateApiKey, hashOfApiKey } from '@rms/api-key';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { trimUses, usesKept } from '../src/key/use-queries.ts';
import { startAuth, type TestAuth } from './support.ts';

const noonMs = Date.UTC(2026, 5, 15, 12);

describe('BatchFindKeys and BatchReportKeyUses', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

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

  test('keys are found by hash with the name of their workspace, in the order asked, revoked ones too', async () => {
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

  test('uses of a client are added up; its latest one counts, whatever order reports come in', async () => {
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

  test('reports of many gateways at once are all counted', async () => {
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

  test('of each key the 50 latest clients are kept and shown', async () => {
    const crowded = await auth.newKey();
    const quiet = await auth.newKey();
    const clients = Array.from({ length: usesKept + 10 }, (_, i) =>
      useOf(crowded, { address: `10.0.0.${i}`, lastUseTime: timestampFromMs(noonMs + i * 1_000) }),
    );
    await auth.keyUses.batchReportKeyUses({ uses: [...clients, useOf(quiet)] });
    const expected = clients
      .map(({ address }) => address)
      .toReversed()
      .slice(0, usesKept);
    const shown = async () => (await find(crowded.value))[0]?.key?.uses.map(({ address }) => address);
    expect(await shown()).toEqual(expected);
    expect(await trimUses(auth.database.pool)).toBe(10);
    expect(await shown()).toEqual(expected);
    expect((await find(quiet.value))[0]?.key?.uses).toHaveLength(1);
    expect(await trimUses(auth.database.pool)).toBe(0);
  });

  test('texts are cut, no environment is refused, and an empty report is none', async () => {
    const key = await auth.newKey();
    await auth.keyUses.batchReportKeyUses({ uses: [useOf(key, { userAgent: 'x'.repeat(1_000) })] });
    expect((await find(key.value))[0]?.key?.uses[0]?.userAgent).toBe('x'.repeat(256));
    await auth.keyUses.batchReportKeyUses({ uses: [] });
    await expect(
      auth.keyUses.batchReportKeyUses({ uses: [useOf(key, { environment: Environment.UNSPECIFIED })] }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
