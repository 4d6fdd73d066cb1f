import type { MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { deleteMails } from '../mail/mail-queries.ts';
import { checkBatchSize, type HandlerParts, translated } from './handler.ts';

export function deleteMailRequests({ pool }: HandlerParts): Handlers<typeof MailRequestsService>['deleteMailRequests'] {
  return ({ ids }) =>
    translated(async () => {
      checkBatchSize(ids, 100);
      await deleteMails(pool, ids);
      return {};
    });
}
