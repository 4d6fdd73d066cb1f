import { abortableDelay } from '@rms/async';
import { newId } from '@rms/base/ids';
import { toTenant } from '@rms/base/tenant';
import type { Pool } from '@rms/postgres/db';
import { type AlertsService, TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames, type Handlers } from '@rms/rpc';
import { type EmailOutcome, readOutcomes } from '../email/email-queries.ts';
import type { Notifier } from '../notify/notifier.ts';
import { fromKindMessage } from '../rule/rule-message.ts';

interface Parts {
  readonly pool: Pool;
  readonly notifier: Pick<Notifier, 'test'>;
  /** Whether emails can be sent. Otherwise they stay queued. */
  readonly isSending: boolean;
}

/** Shorter than the deadlines of callers. */
const waitMs = 8_000;
const pollMs = 100;
const states = enumNames(TestEmailState);

/**
 * Sends a test email to a rule's recipients, even if the rule is disabled. Waits for the first attempts, so that
 * the response shows whether the SMTP server accepts the email.
 */
export function testRule({ pool, notifier, isSending }: Parts): Handlers<typeof AlertsService>['testRule'] {
  return async (request, context) => {
    const tenant = toTenant(request);
    const kind = fromKindMessage(request.kind);
    const at = new Date();
    const incidents = [{ subjectId: '', summary: '', openedAt: at, at }] as const;
    const notification = { ...tenant, id: newId('ntf'), kind, notice: 'test', incidents } as const;
    const { recipients, emailIds } = await notifier.test(notification, context);
    if (!isSending) return { addresses: recipients };
    const until = performance.now() + waitMs;
    let outcomes = await readOutcomes(pool, tenant, emailIds);
    while (outcomes.some(isPending) && performance.now() < until && !context.signal.aborted) {
      await abortableDelay(pollMs, context.signal);
      outcomes = await readOutcomes(pool, tenant, emailIds);
    }
    const emails = outcomes.map(({ recipient, state, reply }) => ({
      address: recipient,
      state: states.toValue(state),
      reply,
    }));
    return { addresses: recipients, emails };
  };
}

/** Returns whether no attempt is over. */
function isPending({ state, reply }: EmailOutcome): boolean {
  return state === 'queued' && reply === '';
}
