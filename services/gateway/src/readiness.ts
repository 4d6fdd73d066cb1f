import { setTimeout as delay } from 'node:timers/promises';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Worker } from '@rms/service';
import type { GatewayContext } from './context.ts';

const everyMs = 1_000;
const timeoutMs = 1_000;
const noKey = new Uint8Array(32);

/**
 * Asks auth once a second whether it can answer: without it no request can be let in. Resources and webhooks do not
 * count: while one is away the other's endpoints work, and its own answer 503.
 */
export function createReadiness({ auth, log }: Pick<GatewayContext, 'auth' | 'log'>) {
  let reason: string | undefined = 'starting';
  const probe = async () => {
    const before = reason;
    try {
      const requests = [{ keyHash: noKey, environment: Environment.LIVE }];
      const { results } = await auth.batchVerifyKeys({ requests }, { timeoutMs });
      reason = results[0]?.verdict === KeyVerdict.INVALID ? undefined : 'auth gives wrong answers';
    } catch {
      reason = 'auth does not answer';
    }
    if (before !== reason) log.info({ reason }, reason === undefined ? 'ready' : 'not ready');
  };
  const worker: Worker = {
    name: 'readiness',
    async run(signal) {
      while (!signal.aborted) {
        await probe();
        await delay(everyMs, undefined, { signal }).catch(() => {});
      }
    },
  };
  return { worker, probe, notReady: () => reason };
}
