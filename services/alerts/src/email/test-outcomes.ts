import { abortableDelay } from '@rms/async';
import type { Tenant } from '@rms/base/tenant';
import type { Pool } from '@rms/postgres/db';
import { TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc';
import { type EmailOutcome, readOutcomes } from './email-queries.ts';

/** Shorter than the deadlines of callers. */
const waitMs = 8_000;
const pollMs = 100;
const states = enumNames(TestEmailState);

/** Returns the outcomes of test emails when each has been attempted, after 8 seconds, or when `signal` aborts. */
export async function outcomesOf(pool: Pool, tenant: Tenant, emailIds: readonly string[], signal: AbortSignal) {
  const until = performance.now() + waitMs;
  let outcomes = await readOutcomes(pool, tenant, emailIds);
  while (outcomes.some(isPending) && performance.now() < until && !signal.aborted) {
    await abortableDelay(pollMs, signal);
    outcomes = await readOutcomes(pool, tenant, emailIds);
  }
  return outcomes.map(({ recipient, state, reply }) => ({ address: recipient, state: states.toValue(state), reply }));
}

/** Returns whether no attempt has finished. */
function isPending({ state, reply }: EmailOutcome): boolean {
  return state === 'queued' && reply === '';
}
