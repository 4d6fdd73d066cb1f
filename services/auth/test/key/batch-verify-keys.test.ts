import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { generateApiKey, hashOfApiKey } from '@rms/base/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

const { EXPIRED, INVALID, VALID } = KeyVerdict;
const { LIVE, SANDBOX } = Environment;

describe('BatchVerifyKeys', () => {
  const auth = perSuite(startAuth);

  test('returns the principal and the allowlist of a valid key', async () => {
    const { workspaceId, id, value } = await auth.newKey({ scope: Scope.READ, allowedIps: ['10.0.0.0/8'] });
    const verified = await auth.verify(value);
    expect(verified).toMatchObject({
      verdict: VALID,
      principal: { workspaceId, environment: LIVE, keyId: id, scope: Scope.READ },
      allowedIps: ['10.0.0.0/8'],
      version: 1n,
    });
    expect(verified?.expireTime).toBeUndefined();
  });

  test('returns one result per key, in the order of the requests', async () => {
    const [live, sandbox] = [await auth.newKey(), await auth.newKey({ environment: SANDBOX })];
    const requested = [
      [sandbox.value, LIVE, INVALID],
      [generateApiKey('live'), LIVE, INVALID],
      [live.value, LIVE, VALID],
      [live.value, SANDBOX, INVALID],
      [live.value, LIVE, VALID],
      [sandbox.value, SANDBOX, VALID],
    ] as const;
    const requests = requested.map(([value, environment]) => ({ keyHash: hashOfApiKey(value), environment }));
    const { results } = await auth.keys.batchVerifyKeys({ requests });
    expect(results.map(({ verdict }) => verdict)).toEqual(requested.map(([, , verdict]) => verdict));
  });

  test('an invalid verdict contains no properties of the key', async () => {
    const { value } = await auth.newKey({ environment: SANDBOX });
    const refused = await auth.verify(value, LIVE);
    expect([refused?.principal, refused?.expireTime, refused?.allowedIps]).toEqual([undefined, undefined, []]);
    expect([refused?.version, refused?.limits]).toEqual([0n, undefined]);
  });

  test('an invalid verdict states whether the key exists', async () => {
    const { value, workspaceId, id } = await auth.newKey();
    expect(await auth.verify(value, SANDBOX)).toMatchObject({ verdict: INVALID, exists: true });
    await auth.keys.revokeKey({ workspaceId, id });
    expect(await auth.verify(value)).toMatchObject({ verdict: INVALID, exists: true });
    expect(await auth.verify(generateApiKey('live'))).toMatchObject({ verdict: INVALID, exists: false });
  });

  test('a key expires at its expiry date, which is returned while it is valid', async () => {
    const expireTime = timestampFromMs(Date.now() + 3_600_000);
    const { id, value } = await auth.newKey({ expireTime });
    expect(await auth.verify(value)).toMatchObject({ verdict: VALID, expireTime });
    await auth.expireKey({ id });
    expect(await auth.verify(value)).toMatchObject({ verdict: EXPIRED });
  });

  test('bytes that are not a hash match no key', async () => {
    const requests = [new Uint8Array(), new Uint8Array(31), new Uint8Array(64)].map((keyHash) => ({
      keyHash,
      environment: LIVE,
    }));
    const { results } = await auth.keys.batchVerifyKeys({ requests });
    expect(results.map(({ verdict }) => verdict)).toEqual([INVALID, INVALID, INVALID]);
  });

  test('accepts 1,000 keys and rejects 1,001; rejects a missing environment', async () => {
    const request = (value: string) => ({ keyHash: hashOfApiKey(value), environment: LIVE });
    const { value } = await auth.newKey();
    const requests = [...Array.from({ length: 999 }, (_, i) => request(`${i}`)), request(value)];
    const { results } = await auth.keys.batchVerifyKeys({ requests });
    expect([results.length, results.at(-1)?.verdict]).toEqual([1_000, VALID]);
    for (const wrong of [[...requests, request('1000')], [{ keyHash: hashOfApiKey('x') }]]) {
      await expect(auth.keys.batchVerifyKeys({ requests: wrong })).rejects.toMatchObject({ code: 'invalid_request' });
    }
    expect((await auth.keys.batchVerifyKeys({ requests: [] })).results).toEqual([]);
  });
});
