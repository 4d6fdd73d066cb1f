import type { RequestListener } from 'node:http';
import type { KeyEnvironment } from '@rms/api-key';
import { RmsError, toRmsError } from '@rms/errors';
import {
  abortOnClose,
  baseUrlOf,
  checkHead,
  errorAnswer,
  parseBody,
  parseQuery,
  readJsonBody,
  sendAnswer,
  setSecurityHeaders,
} from '@rms/http';
import type { Logger } from '@rms/service';
import { inSpans } from '@rms/tracing';
import express, { type Request } from 'express';
import type { Backend } from './backend/backend.ts';
import type { Admit } from './checks/admission.ts';
import { idempotencyKeyOf } from './checks/idempotency-key.ts';
import type { GatewayConfig } from './config.ts';
import { logAccess } from './http/access-log.ts';
import { type ApiResponse, newLocals } from './http/locals.ts';
import type { CountRequest } from './http/request-metrics.ts';
import { traceRequest } from './http/request-span.ts';
import { mountDocs } from './openapi/docs.ts';
import { mountProbes, type Probes } from './probes.ts';
import { noteRequest } from './requests/note-request.ts';
import type { RequestLog } from './requests/request-log.ts';
import type { Endpoint } from './routes/endpoint.ts';
import { endpoints } from './routes/endpoints.ts';
import { mount } from './routes/mount.ts';

export interface AppParts {
  readonly environment: KeyEnvironment;
  readonly config: GatewayConfig;
  readonly admit: Admit;
  readonly backend: Backend;
  readonly probes: Probes;
  readonly requests: RequestLog;
  readonly countRequest: CountRequest;
  readonly log: Logger;
}

/** The REST API of one environment: its listener decides which. */
export function createApp(parts: AppParts): RequestListener {
  const { environment, config, admit, backend, probes, requests, countRequest, log } = parts;
  const { trustedProxies, trustTraceparent } = config;
  const tracing = { environment, trustTraceparent, trustedProxies };
  const publicUrl = environment === 'live' ? config.publicLiveUrl : config.publicSandboxUrl;

  /** What every request to an endpoint passes, in this order. */
  async function serve(endpoint: Endpoint, request: Request, response: ApiResponse): Promise<void> {
    const { principal } = await admit(request, response, endpoint);
    const idempotencyKey = endpoint.idempotent ? idempotencyKeyOf(request) : '';
    const query = parseQuery(endpoint.query, request.url);
    const body = endpoint.body ? parseBody(endpoint.body, await readJsonBody(request, response)) : undefined;
    const answer = await endpoint.handle({
      principal,
      environment,
      requestId: response.locals.requestId,
      traceparent: response.locals.traceparent,
      context: () => ({
        requestId: response.locals.requestId,
        traceparent: response.locals.traceparent,
        principal,
        clientAddress: response.locals.client().address,
      }),
      id: String(request.params.id ?? ''),
      query,
      body,
      idempotencyKey,
      baseUrl: () => publicUrl ?? baseUrlOf(request, trustedProxies),
      backend,
      signal: () => abortOnClose(response),
    });
    response.locals.steps.handledAtMs = performance.now();
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
    response.locals = newLocals(request, trustedProxies);
    response.setHeader('X-Request-ID', response.locals.requestId);
    setSecurityHeaders(request, response, trustedProxies);
    if (probes.draining) response.setHeader('Connection', 'close');
    traceRequest(request, response, tracing);
    noteRequest(request, response, { environment, requests });
    logAccess(request, response, log);
    countRequest(request, response);
    const fail = (thrown: unknown) => {
      const error = toRmsError(thrown);
      response.locals.errorCode = error.code;
      const { requestId } = response.locals;
      // The client has gone, and with it the calls that were made for its answer.
      if (response.destroyed && error.code !== 'internal_error') return;
      if (error.kind.httpStatus >= 500) log.error({ err: error, code: error.code, request_id: requestId }, 'failed');
      if (response.headersSent) response.destroy();
      else sendAnswer(response, errorAnswer(error));
    };
    try {
      checkHead(request);
      const serveIt = () => app(request, response, (thrown?: unknown) => fail(thrown ?? new RmsError('not_found')));
      const { span } = response.locals;
      if (span) inSpans([span], serveIt);
      else serveIt();
    } catch (error) {
      fail(error);
    }
  };
}
