import { alertKindName } from '@rms/api';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { sendResponse } from '@rms/net/http';
import type { Express, Request } from 'express';
import type { Backend } from '../context.ts';
import type { PageResponse } from '../http/locals.ts';
import { linkEndpoint } from './link-endpoint.ts';

/** Returns the subject of an unsubscribe link. Changes nothing, because email scanners follow links. */
export const findUnsubscribe = linkEndpoint('/api/unsubscribe/find', async ({ backend, body: { token }, context }) => {
  const found = await backend.alerts.describeUnsubscribe({ token }, { context });
  return {
    address: found.address,
    environment: fromEnvironmentMessage(found.environment),
    kind: alertKindName(found.kind),
    unsubscribed: found.unsubscribed,
  };
});

export const unsubscribe = linkEndpoint('/api/unsubscribe', async ({ backend, body: { token }, context }) => {
  await backend.alerts.unsubscribe({ token }, { context });
  return undefined;
});

/** Undoes an unsubscription with the token in the link's fragment. */
export const resubscribe = linkEndpoint('/api/unsubscribe/undo', async ({ backend, body: { token }, context }) => {
  await backend.alerts.resubscribe({ token }, { context });
  return undefined;
});

/**
 * Mounts one-click unsubscription for email clients (RFC 8058): a POST to the link's URL, without a cookie and
 * without a page. The token allows only this.
 */
export function mountOneClick(app: Express, { alerts }: Pick<Backend, 'alerts'>): void {
  app.post('/unsubscribe', async (request: Request, response: PageResponse) => {
    const token = new URL(request.url, 'http://own').searchParams.get('token') ?? '';
    const { requestId } = response.locals;
    await alerts.unsubscribe({ token }, { context: { requestId, clientAddress: response.locals.client().address } });
    sendResponse(response, { status: 200, json: '{}' });
  });
}
