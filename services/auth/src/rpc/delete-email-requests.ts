import type { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { deleteEmails } from '../email/email-queries.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

export function deleteEmailRequests({
  pool,
}: HandlerParts): Handlers<typeof EmailRequestsService>['deleteEmailRequests'] {
  return async ({ ids }) => {
    checkBatchSize(ids, 100);
    await deleteEmails(pool, ids);
    return {};
  };
}
