import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type KeysService, KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { type Environment, fromEnvironmentMessage } from '@rms/tenant';
import { endOfKey, verdictFor } from '../key/key.ts';
import { toScopeMessage } from '../key/key-message.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { toLimitsMessage } from '../plan/plan-message.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

const batchLimit = 1_000;

/** Verifies all keys with one statement. Results are in the order of the requests. */
export function batchVerifyKeys({ pool, metrics }: HandlerParts): Handlers<typeof KeysService>['batchVerifyKeys'] {
  return async ({ requests }) => {
    checkBatchSize(requests, batchLimit);
    const environments = requests.map(({ environment }) => fromEnvironmentMessage(environment));
    const found = await findKeysByHash(
      pool,
      requests.map(({ keyHash }) => keyHash),
    );
    const byHash = new Map(found.map((one) => [one.key.hash.toString('hex'), one]));
    return {
      results: requests.map(({ keyHash, environment }, i) => {
        const { key, now, plan } = byHash.get(Buffer.from(keyHash).toString('hex')) ?? {};
        const requested = environments[i] as Environment;
        if (!key || !now || !plan) {
          metrics.countVerdict(requested, 'unknown');
          return { verdict: KeyVerdict.INVALID };
        }
        const verdict = verdictFor(key, requested, now);
        metrics.countVerdict(requested, verdict === 'invalid' ? 'revoked' : verdict);
        if (verdict === 'invalid') return { verdict: KeyVerdict.INVALID, exists: true };
        if (verdict === 'expired') return { verdict: KeyVerdict.EXPIRED };
        const end = endOfKey(key);
        return {
          verdict: KeyVerdict.VALID,
          principal: { workspaceId: key.workspaceId, environment, keyId: key.id, scope: toScopeMessage(key.scope) },
          allowedIps: [...key.allowedIps],
          keyName: key.name,
          version: BigInt(key.version),
          limits: {
            ...toLimitsMessage(plan),
            ...(key.rateLimitRequests === undefined ? {} : { keyRateLimitRequests: BigInt(key.rateLimitRequests) }),
          },
          ...(end ? { expireTime: timestampFromDate(end) } : {}),
        };
      }),
    };
  };
}
