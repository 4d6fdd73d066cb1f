import { fromBinary } from '@bufbuild/protobuf';
import { MailRequestSchema, type MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { SecretBoxError } from '@rms/secrets';
import { leaseMails } from '../mail/mail-queries.ts';
import { type HandlerParts, invalid, translated } from './handler.ts';

const most = 100;
const leaseSeconds = 60;

/** One that no key opens is left to the end of its time, and told of. */
export function leaseMailRequests({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof MailRequestsService>['leaseMailRequests'] {
  return ({ limit }) =>
    translated(async () => {
      if (limit < 1 || limit > most) throw invalid('limit', `must be 1 to ${most}`);
      const leased = await leaseMails(pool, limit, leaseSeconds);
      const mailRequests = leased.flatMap(({ id, sealed }) => {
        try {
          return [fromBinary(MailRequestSchema, box.open(sealed, id))];
        } catch (err) {
          if (!(err instanceof SecretBoxError)) throw err;
          log.error({ err, mail_request_id: id }, 'a mail cannot be opened: no configured key sealed it');
          return [];
        }
      });
      return { mailRequests };
    });
}
