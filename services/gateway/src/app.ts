import type { RequestListener } from 'node:http';
import { type Admitted, type Backend, type Endpoint, endpoints, serveEndpoint } from '@rms/api';
import { networkOf } from '@rms/base/cidr';
import { toRmsError } from '@rms/base/errors';
import { keyMay } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import {
  abortOnClose,
  type BodyBudget,
  baseUrlOf,
  createHttpApp,
  errorResponse,
  mountEndpoints,
  sendResponse,
  setSecurityHeaders,
} from '@rms/net/http';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { Admission } from './checks/admission.ts';
import type { GatewayConfig } from './config.ts';
import {
  type ApiResponse,
  type Locals,
  logAccess,
  newLocals,
  recordRequest,
  traceRequest,
} from './http/observe-request.ts';
import type { CountRequest } from './http/request-metrics.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountProbes, type Probes } from './probes.ts';
import type { RequestLog } from './requests/request-log.ts';

export interface AppParts {
  readonly environment: Environment;
  readonly config: GatewayConfig;
  readonly admit: Admission['admit'];
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
    const bodyOptions = () => {
      const { workspaceId = '', client } = response.locals;
      return { budget: bodies, owners: [networkOf(client().address), workspaceId] };
    };
    const result = await serveEndpoint(endpoint, admitted, { request, response, bodyOptions });
    response.locals.steps.handledAtMs = performance.now();
    sendResponse(response, result);
  }

  return createHttpApp<Locals>({
    trustedProxies,
    probes,
    log,
    newLocals,
    mount(app) {
      const routes = endpoints.map((endpoint) => ({ method: endpoint.method, path: endpoint.path, endpoint }));
      // Authentication comes before the 404 or 405 response.
      mountEndpoints<Endpoint, Locals>(app, routes, { prefix: '/v1', serve, admit });
      mountProbes(app, probes);
      mountDocs(app, config.webhookUrls, publicUrl ? new URL(publicUrl).pathname : '/');
    },
    begin(request, response) {
      setSecurityHeaders(response, response.locals.client());
      traceRequest(request, response, tracing);
      recordRequest(request, response, { environment, requests });
      logAccess(request, response, log);
      countRequest(request, response);
    },
    fail(thrown, _, response) {
      const error = toRmsError(thrown);
      response.locals.errorCode = error.code;
      const { requestId } = response.locals;
      // The client has disconnected, which aborted the RPCs of this request.
      if (response.destroyed && error.code !== 'internal_error') return;
      if (error.kind.httpStatus >= 500)
        log.error({ err: error, code: error.code, request_id: requestId }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendResponse(response, errorResponse(error, config.errorCatalogUrl));
    },
  });
}
