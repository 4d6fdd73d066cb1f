import type { Pool } from '@rms/db';
import { abortableDelay, type Worker } from '@rms/service';
import { trimInvitations } from './invitation/invitation-queries.ts';
import { trimUses } from './key/use-queries.ts';
import { trimMails } from './mail/mail-queries.ts';
import { trimResets } from './password/reset-queries.ts';
import { trimNetworks } from './sign-in/network-queries.ts';
import { trimThrottles } from './sign-in/throttle-queries.ts';

const everyMs = 10 * 60_000;
const trims = [trimUses, trimThrottles, trimNetworks, trimResets, trimInvitations, trimMails];

/** Keeps what is known of keys' clients small, and forgets what has run out. */
export function createHousekeeping({ pool, onSuccess }: { pool: Pool; onSuccess: () => void }): Worker {
  return {
    name: 'housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        for (const trim of trims) await trim(pool);
        onSuccess();
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
