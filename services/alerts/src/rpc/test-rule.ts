import { newId } from '@rms/ids';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { toTenant } from '@rms/tenant';
import type { Notifier } from '../notify/notifier.ts';
import { fromKindMessage } from '../rule/rule-message.ts';

/** Sends a test email to the recipients of a rule, even if the rule is disabled. */
export function testRule({
  notifier,
}: {
  notifier: Pick<Notifier, 'test'>;
}): Handlers<typeof AlertsService>['testRule'] {
  return async (request, context) => {
    const tenant = toTenant(request);
    const kind = fromKindMessage(request.kind);
    const at = new Date();
    const notification = { ...tenant, kind, notice: 'test', subjectId: '', summary: '', openedAt: at, at } as const;
    return { addresses: await notifier.test({ ...notification, id: newId('ntf') }, context) };
  };
}
