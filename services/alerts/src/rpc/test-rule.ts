import { newId } from '@rms/ids';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Notifier } from '../notify/notifier.ts';
import { kindNames } from '../rule/rule-message.ts';
import { toTenant } from '../tenant.ts';
import { refuse, translated } from './handler.ts';

/** Whether the rule is on does not matter: this is how one sees that mails arrive. */
export function testRule({
  notifier,
}: {
  notifier: Pick<Notifier, 'tell'>;
}): Handlers<typeof AlertsService>['testRule'] {
  return (request) =>
    translated(async () => {
      const tenant = toTenant(request);
      const kind = kindNames.toName(request.kind) ?? refuse('kind', 'must be one of the kinds');
      const at = new Date();
      const telling = { ...tenant, kind, notice: 'test', subjectId: '', summary: '', openedAt: at, at } as const;
      return { addresses: await notifier.tell({ ...telling, id: newId('ntf') }) };
    });
}
