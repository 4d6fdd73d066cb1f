import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { KeyEnvironment } from '@rms/api-key';
import { type KeysService, KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { endOfKey, judgeKey } from '../key/key.ts';
import { fromEnvironmentMessage, toScopeMessage } from '../key/key-message.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { toLimitsMessage } from '../plan/plan-message.ts';
import { checkBatchSize, type HandlerParts, translated } from './handler.ts';

const batchLimit = 1_000;

/** One statement for all of them; each gets an answer of its own, in the order asked. */
export function batchVerifyKeys({ pool, metrics }: HandlerParts): Handlers<typeof KeysService>['batchVerifyKeys'] {
  return ({ requests }) =>
    translated(async () => {
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
          const asked = environments[i] as KeyEnvironment;
          if (!key || !now || !plan) {
            metrics.countVerdict(asked, 'unknown');
            return { verdict: KeyVerdict.INVALID };
          }
          const verdict = judgeKey(key, asked, now);
          metrics.countVerdict(asked, verdict === 'invalid' ? 'revoked' : verdict);
          if (verdict === 'invalid') return { verdict: KeyVerdict.INVALID, exists: true };
          if (verdict === 'expired') return { verdict: KeyVerdict.EXPIRED };
          const end = endOfKey(key);
          return {
            verdict: KeyVerdict.VALID,
            principal: { workspaceId: key.workspaceId, environment, keyId: key.id, scope: toScopeMessage(key.scope) },
            allowedIps: [...key.allowedIps],
            version: BigInt(key.version),
            limits: toLimitsMessage({ ...plan, rateLimitRequests: key.rateLimitRequests ?? plan.rateLimitRequests }),
            ...(end ? { expireTime: timestampFromDate(end) } : {}),
          };
        }),
      };
    });
}
