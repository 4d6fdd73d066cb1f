import type { GetEmailStatusResponse } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { tenantEndpoint } from './endpoint.ts';

/** Emails that could not be sent yet. */
export interface EmailStatusDocument {
  /** Emails that wait because their last attempt failed. */
  readonly waiting: number;
  /** Reason of the latest failure; null: no email waits. */
  readonly last_error: string | null;
}

/** Returns how many emails of the workspace wait because the SMTP server rejects them, and why. */
export const getEmailStatus = tenantEndpoint({
  access: 'alerts:write',
  method: 'get',
  path: '/email-status',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    return documentOf(await backend.alerts.getEmailStatus({ workspaceId }, { context, signal: signal() }));
  },
});

function documentOf({ waiting, lastError }: GetEmailStatusResponse): EmailStatusDocument {
  return { waiting, last_error: lastError || null };
}
