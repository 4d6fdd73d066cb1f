import type { Pool } from '@rms/db';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { trimEmailChanges } from './email-change/email-change-queries.ts';
import { trimInvitations } from './invitation/invitation-queries.ts';
import { trimUses } from './key/use-queries.ts';
import { trimMails } from './mail/mail-queries.ts';
import { trimResets } from './password/reset-queries.ts';
import { requestPartitions } from './request/request-log.ts';
import { trimNetworks } from './sign-in/network-queries.ts';
import { trimThrottles } from './sign-in/throttle-queries.ts';

const everyMs = 10 * 60_000;
const trims = [trimUses, trimThrottles, trimNetworks, trimResets, trimEmailChanges, trimInvitations, trimMails];

/** Keeps what is known of keys' clients small, makes the days of requests to come, and drops what has had its time. */
export function createHousekeeping(parts: {
  pool: Pool;
  log: Logger;
  requestLogDays: number;
  onSuccess: () => void;
}): Worker {
  const { pool, log, requestLogDays, onSuccess } = parts;
  return {
    name: 'housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        await requestPartitions.make(pool);
        const dropped = await requestPartitions.drop(pool, requestLogDays);
        if (dropped > 0) log.info({ dropped, retention_days: requestLogDays }, 'old days of requests are dropped');
        for (const trim of trims) await trim(pool);
        onSuccess();
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
