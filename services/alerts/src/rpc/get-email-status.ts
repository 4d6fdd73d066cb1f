import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { AlertsConfig } from '../config.ts';

/** Returns whether an SMTP server is configured. Emails in a folder reach only the operator. */
export function getEmailStatus({ smtp }: Pick<AlertsConfig, 'smtp'>): Handlers<typeof AlertsService>['getEmailStatus'] {
  return async () => ({ hasSmtp: smtp !== undefined });
}
