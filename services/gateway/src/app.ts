import type { RequestListener } from 'node:http';
import type { KeyEnvironment } from '@rms/api-key';
import { RmsError, toRmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';
import type { Logger } from '@rms/service';
import express, { type Request } from 'express';
import type { Backend } from './backend/backend.ts';
import { checkAllowlist } from './checks/allowlist.ts';
import { keyHashOf } from './checks/authenticate.ts';
import { readJsonBody } from './checks/body.ts';
import { idempotencyKeyOf } from './checks/idempotency-key.ts';
import { checkLimits, setLimitHeaders } from './checks/limits.ts';
import type { Caller, Principals } from './checks/principals.ts';
import { checkScope } from './checks/scope.ts';
import { parseBody, parseQuery } from './checks/validate.ts';
import type { GatewayConfig } from './config.ts';
import { abortOnClose } from './http/abort-on-close.ts';
import { logAccess } from './http/access-log.ts';
import { baseUrlOf, checkHost } from './http/base-url.ts';
import { type ApiResponse, newLocals } from './http/locals.ts';
import { errorAnswer, sendAnswer } from './http/respond.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountProbes, type Probes } from './probes.ts';
import type { Endpoint } from './routes/endpoint.ts';
import { endpoints } from './routes/endpoints.ts';
import { mount } from './routes/mount.ts';

export interface AppParts {
  readonly environment: KeyEnvironment;
  readonly config: GatewayConfig;
  readonly principals: Principals;
  readonly limiter: Limiter;
  readonly backend: Backend;
  readonly probes: Probes;
  readonly log: Logger;
}

/** The REST API of one environment: its listener decides which. */
export function createApp(parts: AppParts): RequestListener {
  const { environment, config, principals, limiter, backend, probes, log } = parts;
  const { trustedProxies } = config;
  const publicUrl = environment === 'live' ? config.publicLiveUrl : config.publicSandboxUrl;

  /** What every request under /v1 passes, in this order, before anything is said about its path. */
  async function admit(request: Request, response: ApiResponse, endpoint?: Endpoint): Promise<Caller> {
    const keyHash = keyHashOf(request, environment);
    let caller = await principals.find(keyHash);
    response.locals.keyId = caller.principal.keyId;
    try {
      checkCaller(caller, request, endpoint);
    } catch (refusal) {
      // A key that was revoked a moment ago gets 401, not 403: who is refused on a cached verdict is asked about again.
      if (!caller.fresh) await principals.ask(keyHash);
      throw refusal;
    }
    const { workspaceId, keyId } = caller.principal;
    const decision = await limiter.check({ workspaceId, environment, keyId });
    if (decision.outcome === 'revoked') principals.forget(keyHash);
    // Auth has the last word on a marked key, and on every key while marks cannot be seen.
    if (decision.outcome === 'revoked' || (decision.outcome === 'unknown' && !caller.fresh)) {
      caller = await principals.ask(keyHash);
      checkCaller(caller, request, endpoint);
    }
    setLimitHeaders(response, decision, config.rateLimitWindowSeconds);
    checkLimits(decision);
    return caller;
  }

  function checkCaller(caller: Caller, request: Request, endpoint: Endpoint | undefined): void {
    checkAllowlist(caller, request, { trustedProxies, log });
    if (endpoint) checkScope(caller, endpoint.scope);
  }

  /** What a request to an endpoint passes after that. */
  async function serve(endpoint: Endpoint, request: Request, response: ApiResponse): Promise<void> {
    const { principal } = await admit(request, response, endpoint);
    const idempotencyKey = endpoint.idempotent ? idempotencyKeyOf(request) : '';
    const query = parseQuery(endpoint.query, request.url);
    const body = endpoint.body ? parseBody(endpoint.body, await readJsonBody(request, response)) : undefined;
    const answer = await endpoint.handle({
      principal,
      environment,
      requestId: response.locals.requestId,
      id: String(request.params.id ?? ''),
      query,
      body,
      idempotencyKey,
      baseUrl: () => publicUrl ?? baseUrlOf(request, trustedProxies),
      backend,
      signal: () => abortOnClose(response),
    });
    sendAnswer(response, answer);
  }

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.enable('case sensitive routing').enable('strict routing');
  mount(app, endpoints, { serve, admit });
  mountProbes(app, probes);
  mountDocs(app);

  /** Around Express: what holds for every answer, whoever gives it. */
  return (incoming, outgoing) => {
    const request = incoming as Request;
    const response = outgoing as ApiResponse;
    response.locals = newLocals(request);
    response.setHeader('X-Request-ID', response.locals.requestId);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    if (probes.draining) response.setHeader('Connection', 'close');
    logAccess(request, response, log);
    const fail = (thrown: unknown) => {
      const error = toRmsError(thrown);
      const { requestId } = response.locals;
      if (error.kind.httpStatus >= 500) log.error({ err: error, code: error.code, request_id: requestId }, 'failed');
      if (response.headersSent) response.destroy();
      else sendAnswer(response, errorAnswer(error));
    };
    try {
      checkHost(request);
      app(request, response, (thrown?: unknown) => fail(thrown ?? new RmsError('not_found')));
    } catch (error) {
      fail(error);
    }
  };
}
