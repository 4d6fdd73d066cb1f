import { newId } from '@rms/base/ids';
import { toTenant } from '@rms/base/tenant';
import { type AlertsService, TestRuleResponseSchema } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { outcomesOf } from '../email/test-outcomes.ts';
import type { Notifier } from '../notify/notifier.ts';
import { fromKindMessage } from '../rule/rule-message.ts';
import type { HandlerParts } from './handler.ts';

interface Parts extends Pick<HandlerParts, 'pool' | 'idempotency'> {
  readonly notifier: Pick<Notifier, 'prepareTest'>;
  /** Whether emails can be sent. Otherwise they stay queued. */
  readonly isSending: boolean;
  /** Called when emails are queued. */
  readonly onEmails: () => void;
}

/**
 * Sends a test email to a rule's recipients, even if the rule is disabled. Waits for the first attempts, so that
 * the response shows whether the SMTP server accepts the email.
 */
export function testRule(parts: Parts): Handlers<typeof AlertsService>['testRule'] {
  const { pool, idempotency, notifier, isSending, onEmails } = parts;
  return async (request, context) => {
    const kind = fromKindMessage(request.kind);
    const at = new Date();
    const incidents = [{ subjectId: '', summary: '', openedAt: at, at }] as const;
    const notification = { ...toTenant(request), id: newId('ntf'), kind, notice: 'test', incidents } as const;
    const queueTest = await notifier.prepareTest(notification, context);
    const once = {
      tenant: () => toTenant(request),
      operation: 'test alert rule',
      key: request.idempotencyKey,
      content: kind,
    };
    const { response, replayed } = await idempotency.onceAround(once, TestRuleResponseSchema, {
      prepare: queueTest,
      async act({ recipients, emailIds }) {
        onEmails();
        const addresses = [...recipients];
        if (!isSending) return { addresses };
        return { addresses, emails: await outcomesOf(pool, toTenant(request), emailIds, context.signal) };
      },
    });
    return { ...response, replayed };
  };
}
