import type { RequestListener } from 'node:http';
import { type Admitted, type Backend, type Endpoint, endpoints, serveEndpoint } from '@rms/api';
import { inSpans } from '@rms/async/tracing';
import { networkOf } from '@rms/base/cidr';
import { toRmsError } from '@rms/base/errors';
import { keyMay } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import {
  abortOnClose,
  type BodyBudget,
  baseUrlOf,
  checkHead,
  createProxyWarning,
  errorResponse,
  normalizeTarget,
  readJsonBody,
  routeNotFound,
  sendResponse,
  setSecurityHeaders,
} from '@rms/net/http';
import type { Logger } from '@rms/runtime/logging';
import express, { type Request } from 'express';
import type { Admit } from './checks/admission.ts';
import type { GatewayConfig } from './config.ts';
import { logAccess } from './http/access-log.ts';
import { type ApiResponse, newLocals } from './http/locals.ts';
import { mount } from './http/mount.ts';
import type { CountRequest } from './http/request-metrics.ts';
import { traceRequest } from './http/request-span.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountProbes, type Probes } from './probes.ts';
import { recordRequest } from './requests/record-request.ts';
import type { RequestLog } from './requests/request-log.ts';

export interface AppParts {
  readonly environment: Environment;
  readonly config: GatewayConfig;
  readonly admit: Admit;
  readonly backend: Backend;
  readonly probes: Probes;
  readonly requests: RequestLog;
  /** Of all listeners of the process. */
  readonly bodies: BodyBudget;
  readonly countRequest: CountRequest;
  readonly log: Logger;
}

/** Creates the REST API of an environment. */
export function createApp(parts: AppParts): RequestListener {
  const { environment, config, admit, backend, probes, requests, bodies, countRequest, log } = parts;
  const { trustedProxies, trustTraceparent } = config;
  const tracing = { environment, trustTraceparent };
  const warnOfProxy = createProxyWarning(trustedProxies, log);
  const publicUrl = environment === 'live' ? config.publicLiveUrl : config.publicSandboxUrl;

  /** Checks a request in this order, calls the endpoint's handler and sends the response. */
  async function serve(endpoint: Endpoint, request: Request, response: ApiResponse): Promise<void> {
    const { principal, grant, keyName, limits, maxWebhooks } = await admit(request, response, endpoint);
    const isGet = endpoint.method === 'get';
    const admitted: Admitted = {
      tenant: principal,
      environment,
      may: (other) => keyMay(grant, other),
      limits: async () => ({ ...limits, maxWebhooks }),
      requestId: response.locals.requestId,
      trace: response.locals.trace,
      context: () => ({
        requestId: response.locals.requestId,
        ...response.locals.trace,
        principal,
        clientAddress: response.locals.client().address,
        // For audit entries, which only changes have.
        ...(isGet ? {} : { actorName: keyName }),
      }),
      id: String(Object.values(request.params)[0] ?? ''),
      url: () => (publicUrl ?? baseUrlOf(request, response.locals.client())) + request.path,
      backend,
      signal: () => abortOnClose(response),
    };
    const readBody = () => bodyOf(request, response, bodies);
    const result = await serveEndpoint(endpoint, admitted, { request, readBody });
    response.locals.steps.handledAtMs = performance.now();
    sendResponse(response, result);
  }

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.enable('case sensitive routing').enable('strict routing');
  mount(app, endpoints, { serve, admit });
  mountProbes(app, probes);
  mountDocs(app, config.webhookUrls, publicUrl ? new URL(publicUrl).pathname : '/');

  /** Wraps Express, because these steps apply to every response, including errors before routing. */
  return (incoming, outgoing) => {
    const request = incoming as Request;
    const response = outgoing as ApiResponse;
    normalizeTarget(request);
    response.locals = newLocals(request, trustedProxies);
    response.setHeader('X-Request-ID', response.locals.requestId);
    setSecurityHeaders(response, response.locals.client());
    if (probes.draining) response.setHeader('Connection', 'close');
    warnOfProxy(response.locals.client());
    traceRequest(request, response, tracing);
    recordRequest(request, response, { environment, requests });
    logAccess(request, response, log);
    countRequest(request, response);
    const fail = (thrown: unknown) => {
      const error = toRmsError(thrown);
      response.locals.errorCode = error.code;
      const { requestId } = response.locals;
      // The client has disconnected, which aborted the RPCs of this request.
      if (response.destroyed && error.code !== 'internal_error') return;
      if (error.kind.httpStatus >= 500)
        log.error({ err: error, code: error.code, request_id: requestId }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendResponse(response, errorResponse(error, config.errorCatalogUrl));
    };
    try {
      checkHead(request);
      const serveIt = () => app(request, response, (thrown?: unknown) => fail(thrown ?? routeNotFound(request)));
      const { span } = response.locals;
      if (span) inSpans([span], serveIt);
      else serveIt();
    } catch (error) {
      fail(error);
    }
  };
}

/** Reads the JSON body of a request. */
function bodyOf(request: Request, response: ApiResponse, budget: BodyBudget): Promise<unknown> {
  const { workspaceId = '', client } = response.locals;
  return readJsonBody(request, response, { budget, owners: [networkOf(client().address), workspaceId] });
}
