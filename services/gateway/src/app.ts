import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyEnvironment } from '@rms/api-key';
import { RmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';
import type { Logger } from '@rms/service';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Backend } from './backend/backend.ts';
import { checkAllowlist } from './checks/allowlist.ts';
import { keyHashOf } from './checks/authenticate.ts';
import { readJsonBody } from './checks/body.ts';
import { clientAddress } from './checks/client-address.ts';
import { idempotencyKeyOf } from './checks/idempotency-key.ts';
import { checkLimits, setLimitHeaders } from './checks/limits.ts';
import type { Caller, Principals } from './checks/principals.ts';
import { checkScope } from './checks/scope.ts';
import { parseBody, parseQuery } from './checks/validate.ts';
import type { GatewayConfig } from './config.ts';
import type { Endpoint } from './endpoint.ts';
import { logAccess } from './log-access.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountProbes, type Probes } from './probes.ts';
import { sendAnswer, sendError, startResponse } from './respond.ts';
import { endpoints } from './routes/endpoints.ts';

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
export function createApp(parts: AppParts): Express {
  const { environment, config, principals, limiter, backend, log } = parts;

  /** Everything that stands before an endpoint, in this order (ARCHITECTURE.md, "The write path"). */
  async function serve(endpoint: Endpoint, request: Request, response: Response): Promise<void> {
    const caller = await admit(request, response, endpoint);
    const idempotencyKey = endpoint.idempotent ? idempotencyKeyOf(request) : '';
    const query = parseQuery(endpoint.query, request.url);
    const body = endpoint.body ? parseBody(endpoint.body, await readJsonBody(request)) : undefined;
    const answer = await endpoint.handle({
      principal: caller.principal,
      environment,
      requestId: response.locals.requestId,
      id: String(request.params.id ?? ''),
      query,
      body,
      idempotencyKey,
      baseUrl: baseUrlOf(request),
      backend,
      get signal() {
        return abortOnClose(response);
      },
    });
    sendAnswer(response, answer);
  }

  async function admit(request: IncomingMessage, response: Response, endpoint?: Endpoint): Promise<Caller> {
    const keyHash = keyHashOf(request, environment);
    let caller = await principals.find(keyHash);
    try {
      checkCaller(caller, request, endpoint);
    } catch (error) {
      // A key that was revoked a moment ago answers 401, not 403: what refuses on a cached verdict asks again first.
      if (!caller.fresh) await principals.ask(keyHash);
      throw error;
    }
    const { workspaceId, keyId } = caller.principal;
    response.locals.keyId = keyId;
    const decision = await limiter.check({ workspaceId, environment, keyId });
    if (decision.outcome === 'revoked') principals.forget(keyHash);
    if (decision.outcome === 'revoked' || (decision.outcome === 'unknown' && !caller.fresh)) {
      caller = await principals.ask(keyHash);
      checkCaller(caller, request, endpoint);
    }
    setLimitHeaders(response, decision, config.rateLimitWindowSeconds);
    checkLimits(decision);
    return caller;
  }

  function checkCaller(caller: Caller, request: IncomingMessage, endpoint: Endpoint | undefined): void {
    checkAllowlist(caller, clientAddress(request, config.trustedProxies), log);
    if (endpoint) checkScope(caller, endpoint.scope);
  }

  function baseUrlOf(request: IncomingMessage): string {
    const configured = environment === 'live' ? config.publicLiveUrl : config.publicSandboxUrl;
    return configured ?? `http://${request.headers.host ?? 'localhost'}`;
  }

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false).enable('case sensitive routing');
  app.use((request: Request, response: Response, next: NextFunction) => {
    startResponse(request, response);
    logAccess(request, response, log);
    next();
  });
  mountProbes(app, parts.probes);
  mountDocs(app);
  for (const endpoint of endpoints) {
    app[endpoint.method](toExpressPath(endpoint.path), (request, response) => serve(endpoint, request, response));
  }
  // Under /v1 the key comes first, then the question whether the path and the method exist.
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    app.all(toExpressPath(path), async (request: Request, response: Response) => {
      await admit(request, response);
      response.setHeader('Allow', methodsOf(path).join(', '));
      throw new RmsError('method_not_allowed');
    });
  }
  app.all('/v1{/*rest}', async (request: Request, response: Response) => {
    await admit(request, response);
    throw new RmsError('not_found');
  });
  app.use(() => {
    throw new RmsError('not_found');
  });
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    sendError(request, response, error, log);
  });
  return app;
}

function toExpressPath(path: string): string {
  return path.replace('{id}', ':id');
}

function methodsOf(path: string): string[] {
  const methods = endpoints.filter((endpoint) => endpoint.path === path).map(({ method }) => method.toUpperCase());
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : methods;
}

function abortOnClose(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) abort.abort();
  });
  return abort.signal;
}
