import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Environment, fromEnvironmentMessage } from '@rms/base/tenant';
import { type KeysService, KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { type Handlers, toKeyGrantMessage } from '@rms/rpc';
import { endOfKey, type StoredKey, verdictFor } from '../key/key.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { addRefusals, type ReportedRefusal } from '../key/refusal-queries.ts';
import { toLimitsMessage } from '../plan/plan-message.ts';
import { checkBatchSize, type HandlerParts, maxKeysPerCall } from './handler.ts';

/**
 * Verifies all keys with one statement. Results are in the requests' order. Records the refusals of known keys
 * without waiting for it.
 */
export function batchVerifyKeys({ pool, metrics, log }: HandlerParts): Handlers<typeof KeysService>['batchVerifyKeys'] {
  return async ({ requests }) => {
    checkBatchSize(requests, maxKeysPerCall);
    const environments = requests.map(({ environment }) => fromEnvironmentMessage(environment));
    const found = await findKeysByHash(
      pool,
      requests.map(({ keyHash }) => keyHash),
    );
    const byHash = new Map(found.map((one) => [one.key.hash.toString('hex'), one]));
    const refusals = new Map<string, ReportedRefusal>();
    const refused = ({ id: keyId, workspaceId, environment }: StoredKey, errorCode: string) =>
      refusals.set(keyId, { keyId, workspaceId, environment, refusedAt: new Date(), errorCode });
    const results = requests.map(({ keyHash, environment }, i) => {
      const { key, now, plan } = byHash.get(Buffer.from(keyHash).toString('hex')) ?? {};
      const requested = environments[i] as Environment;
      if (!key || !now || !plan) {
        metrics.countVerdict(requested, 'unknown');
        return { verdict: KeyVerdict.INVALID };
      }
      const verdict = verdictFor(key, requested, now);
      metrics.countVerdict(requested, verdict === 'invalid' ? 'revoked' : verdict);
      if (verdict === 'invalid') {
        refused(key, 'invalid_api_key');
        return { verdict: KeyVerdict.INVALID, exists: true };
      }
      if (verdict === 'expired') {
        refused(key, 'api_key_expired');
        return { verdict: KeyVerdict.EXPIRED };
      }
      const end = endOfKey(key);
      return {
        verdict: KeyVerdict.VALID,
        principal: { workspaceId: key.workspaceId, environment, keyId: key.id, ...toKeyGrantMessage(key) },
        allowedIps: [...key.allowedIps],
        keyName: key.name,
        version: BigInt(key.version),
        limits: {
          ...toLimitsMessage(plan),
          ...(key.rateLimitRequests === undefined ? {} : { keyRateLimitRequests: BigInt(key.rateLimitRequests) }),
        },
        ...(end ? { expireTime: timestampFromDate(end) } : {}),
      };
    });
    if (refusals.size > 0) {
      addRefusals(pool, [...refusals.values()]).catch((err: unknown) => {
        log.warn({ err, keys: refusals.size }, 'could not record refused keys');
      });
    }
    return { results };
  };
}
