import { sendAnswer } from '@rms/http';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Express, Request } from 'express';
import { z } from 'zod';
import type { Backend } from '../context.ts';
import { kindNameOf } from '../documents/alert.ts';
import type { PageResponse } from '../http/locals.ts';
import { openEndpoint } from './endpoint.ts';

const body = z.strictObject({ token: z.string().max(2_000) });

/** What a link out of an alert's mail is about; changes nothing, for programs that scan mails follow links. */
export const findUnsubscribe = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/unsubscribe/find',
  body,
  async handle({ backend, body: { token }, context }) {
    const found = await backend.alerts.describeUnsubscribe({ token }, { context });
    return {
      address: found.address,
      environment: found.environment === Environment.LIVE ? 'live' : 'sandbox',
      kind: kindNameOf(found.kind),
      unsubscribed: found.unsubscribed,
    };
  },
});

export const unsubscribe = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/unsubscribe',
  body,
  async handle({ backend, body: { token }, context }) {
    await backend.alerts.unsubscribe({ token }, { context });
    return undefined;
  },
});

/**
 * The same in one click for mail programs (RFC 8058): they POST to the address of the link, without a cookie and without
 * having seen a page. Whoever has the token may do this and nothing else.
 */
export function mountOneClick(app: Express, { alerts }: Pick<Backend, 'alerts'>): void {
  app.post('/unsubscribe', async (request: Request, response: PageResponse) => {
    const token = new URL(request.url, 'http://own').searchParams.get('token') ?? '';
    const { requestId } = response.locals;
    await alerts.unsubscribe({ token }, { context: { requestId, clientAddress: response.locals.address() } });
    sendAnswer(response, { status: 200, json: '{}' });
  });
}
