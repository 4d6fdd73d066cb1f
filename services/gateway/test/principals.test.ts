import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { hashOfApiKey } from '@rms/base/api-key';
import { KeyVerdict, type VerifyKeyResult } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { waitUntil } from '@rms/testkit';
import { Principals } from '../src/checks/principals.ts';

/** Creates Principals with an auth client with responses that the test releases one by one. */
function heldPrincipals({ expireTime, nowMs = Date.now }: { expireTime?: Timestamp; nowMs?: () => number } = {}) {
  const held: ((verdict: KeyVerdict) => void)[] = [];
  const principal = { workspaceId: 'ws', environment: Environment.LIVE, keyId: 'key', scope: Scope.READ };
  const batchVerifyKeys = ({ requests }: { requests?: unknown[] }) =>
    new Promise((resolve) => {
      held.push((verdict) => {
        const results = (requests ?? []).map(
          () => ({ verdict, principal, allowedIps: [], version: 1n, expireTime }) as unknown as VerifyKeyResult,
        );
        resolve({ results });
      });
    });
  const principals = new Principals(
    { batchVerifyKeys } as unknown as ConstructorParameters<typeof Principals>[0],
    'live',
    {
      limits: { rateLimitRequests: 10, workspaceRateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 },
      nowMs,
    },
  );
  return { principals, held };
}

describe('Principals', () => {
  const [one, other] = [hashOfApiKey('one'), hashOfApiKey('other')];

  test.each([
    ['forget', (principals: Principals) => principals.forget(one)],
    ['forgetAll', (principals: Principals) => principals.forgetAll()],
  ])('%s invalidates the lookup in flight: its result is not cached', async (_, makeVoid) => {
    const { principals, held } = heldPrincipals();
    const first = principals.ask(one, 'req_test');
    await waitUntil(() => held.length === 1, { what: 'the lookup' });
    makeVoid(principals);
    held[0]?.(KeyVerdict.VALID);
    expect((await first).fresh).toBe(true);
    expect(principals.cached(one)).toBeUndefined();
    const second = principals.ask(one, 'req_test');
    await waitUntil(() => held.length === 2, { what: 'another lookup' });
    held[1]?.(KeyVerdict.INVALID);
    await expect(second).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  test('forgetting one key does not affect the lookup of another', async () => {
    const { principals, held } = heldPrincipals();
    const found = principals.ask(other, 'req_test');
    await waitUntil(() => held.length === 1, { what: 'the lookup' });
    principals.forget(one);
    held[0]?.(KeyVerdict.VALID);
    await found;
    expect(principals.cached(other)).toMatchObject({ fresh: false, version: 1 });
    expect(held).toHaveLength(1);
  });

  test.each([
    ['is not cached once it has expired', -1, 0],
    ['is cached until it expires', 60_000, 1],
  ])('a key %s, by the clock that gateways share', async (_, remainingMs, cached) => {
    const sharedNowMs = Date.UTC(2030, 0, 31);
    const { principals, held } = heldPrincipals({
      expireTime: timestampFromMs(sharedNowMs + remainingMs),
      nowMs: () => sharedNowMs,
    });
    const found = principals.ask(one, 'req_test');
    await waitUntil(() => held.length === 1, { what: 'the lookup' });
    held[0]?.(KeyVerdict.VALID);
    await found;
    expect(principals.cached(one) ? 1 : 0).toBe(cached);
  });
});
