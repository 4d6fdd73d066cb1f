import type { RequestListener } from 'node:http';
import { RmsError } from '@rms/errors';
import { abortOnClose, cameByHttps, checkHead, parseBody, parseQuery, readJsonBody, sendAnswer } from '@rms/http';
import type { Logger } from '@rms/service';
import express, { type Request } from 'express';
import { checkCsrfToken } from './checks/csrf-token.ts';
import { checkSameOrigin } from './checks/same-origin.ts';
import { createSessions } from './checks/sessions.ts';
import { checkTenant } from './checks/tenant.ts';
import type { DashboardConfig } from './config.ts';
import type { DashboardContext } from './context.ts';
import { logAccess } from './http/access-log.ts';
import { newLocals, type PageResponse } from './http/locals.ts';
import { ownOrigin } from './http/own-origin.ts';
import { setPageHeaders } from './http/page-headers.ts';
import { Refusal, sendError } from './http/refusal.ts';
import type { DashboardMetrics } from './metrics.ts';
import { mountOidc } from './oidc/mount-oidc.ts';
import { createProvider } from './oidc/provider.ts';
import type { StaticFiles } from './pages/static-files.ts';
import { mountProbes, type Probes } from './probes.ts';
import type { Endpoint, OpenCall } from './routes/endpoint.ts';
import { endpoints } from './routes/endpoints.ts';
import { mount } from './routes/mount.ts';
import { mountOneClick } from './routes/unsubscribe.ts';
import type { TailHub } from './tail/tail-hub.ts';

export interface AppParts extends Pick<DashboardContext, 'backend'> {
  readonly config: DashboardConfig;
  readonly store: DashboardContext['sessions'];
  readonly probes: Probes;
  readonly files: StaticFiles;
  readonly counts: DashboardMetrics;
  readonly tails: TailHub;
  readonly log: Logger;
}

/** The pages, and the API that they alone call. */
export function createApp(parts: AppParts): RequestListener {
  const { config, backend, store, probes, files, counts, tails, log } = parts;
  const sessions = createSessions(store, backend.signIn, config);

  /** What every call of a page passes, in this order. */
  async function serve(endpoint: Endpoint, request: Request, response: PageResponse): Promise<void> {
    const isChange = endpoint.method !== 'get';
    if (isChange) checkSameOrigin(request, ownOrigin(request, config));
    const who = endpoint.access === 'open' ? undefined : await sessions.require(request, response);
    if (isChange && who) checkCsrfToken(request, who.session);
    const { workspace = '', environment = '' } = request.params as Record<string, string>;
    const isTenant = endpoint.access !== 'open' && endpoint.access !== 'account';
    const place =
      isTenant && who ? checkTenant(who.memberships, { workspace, environment }, endpoint.access) : undefined;
    const checkAgain = async () => {
      const { memberships } = await sessions.require(request, response);
      if (isTenant) checkTenant(memberships, { workspace, environment }, endpoint.access);
    };
    const call: OpenCall<unknown, unknown> = {
      query: parseQuery(endpoint.query, request.url),
      body: endpoint.body ? parseBody(endpoint.body, await readJsonBody(request, response)) : undefined,
      param: (name) => String(request.params[name] ?? ''),
      request,
      response,
      config,
      backend,
      sessions,
      store,
      context: {
        requestId: response.locals.requestId,
        clientAddress: response.locals.address(),
        ...(who ? { actor: `user:${who.user.id}` } : {}),
        ...(place ? { principal: place.tenant } : {}),
      },
      signal: () => abortOnClose(response),
    };
    // Its kind was looked at above: each gets what its type says.
    const document = await (endpoint.handle as (given: object) => Promise<object | undefined>)({
      ...call,
      ...(who ? { who } : {}),
      ...(place ? { ...place, tails, checkAgain } : {}),
    });
    if (response.headersSent) return;
    sendAnswer(response, document ? { status: 200, json: JSON.stringify(document) } : { status: 204 });
  }

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.enable('case sensitive routing').enable('strict routing');
  mountProbes(app, probes);
  mountOneClick(app, backend);
  if (config.oidc)
    mountOidc(app, { config, provider: createProvider(config.oidc), signIn: backend.signIn, sessions, log });
  mount(app, endpoints, serve);
  app.get('/{*path}', (request: Request, response: PageResponse) => files.send(request, response));

  /** Around Express: what holds for every answer, whoever gives it. */
  return (incoming, outgoing) => {
    const request = incoming as Request;
    const response = outgoing as PageResponse;
    response.locals = newLocals(request, config.trustedProxies);
    const { requestId } = response.locals;
    response.setHeader('X-Request-ID', requestId);
    setPageHeaders(response, cameByHttps(request, config.trustedProxies));
    if (probes.draining) response.setHeader('Connection', 'close');
    logAccess(request, response, log);
    counts.countCall(request, response);
    const fail = (thrown: unknown) => {
      const isExpected = thrown instanceof Refusal || (thrown instanceof RmsError && thrown.code !== 'internal_error');
      // The browser has gone, and with it the calls that were made for its answer.
      if (response.destroyed && isExpected) return;
      if (!isExpected) log.error({ err: thrown, request_id: requestId }, 'failed');
      if (response.headersSent) response.destroy();
      else sendError(response, thrown, requestId);
    };
    try {
      checkHead(request);
      app(request, response, (thrown?: unknown) => fail(thrown ?? new RmsError('not_found')));
    } catch (error) {
      fail(error);
    }
  };
}
