import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type Admitted, type Endpoint as ApiEndpoint, createBackend, parameterOf, serveEndpoint } from '@rms/api';
import { untraced } from '@rms/async/tracing';
import { networkOf } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import {
  abortOnClose,
  BodyBudget,
  createHttpApp,
  mountEndpoints,
  parseBody,
  parseQuery,
  readJsonBody,
  routeNotFound,
  sendResponse,
} from '@rms/net/http';
import { actorOfUser } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import { Admission, type Selected } from './checks/admission.ts';
import { readLimits } from './checks/limits.ts';
import { Sessions } from './checks/sessions.ts';
import type { DashboardConfig } from './config.ts';
import type { DashboardContext } from './context.ts';
import { logAccess } from './http/access-log.ts';
import { type Locals, newLocals, type PageResponse } from './http/locals.ts';
import { ownOrigin } from './http/origin.ts';
import { allowFrames, setPageHeaders } from './http/page-headers.ts';
import { Refusal, sendError } from './http/refusal.ts';
import type { DashboardMetrics } from './metrics.ts';
import { mountOidc } from './oidc/mount-oidc.ts';
import { createProvider } from './oidc/provider.ts';
import type { StaticFiles } from './pages/static-files.ts';
import { mountProbes, type Probes } from './probes.ts';
import type { RequestReports } from './requests/request-reports.ts';
import {
  bodyLimitKibOf,
  type Endpoint,
  type OpenCall,
  pathOf,
  routeOf,
  type SignOutOfProvider,
} from './routes/endpoint.ts';
import { endpoints } from './routes/endpoints.ts';
import { mountOneClick } from './routes/unsubscribe.ts';
import type { TailHub } from './tail/tail-hub.ts';

export interface AppParts extends Pick<DashboardContext, 'backend'> {
  readonly config: DashboardConfig;
  readonly store: DashboardContext['sessions'];
  readonly probes: Probes;
  readonly files: StaticFiles;
  readonly counts: DashboardMetrics;
  readonly tails: TailHub;
  readonly reports: Pick<RequestReports, 'report'>;
  readonly log: Logger;
}

/** User or portal session that calls an endpoint of the API. */
interface ApiCaller extends Selected {
  readonly context: OpenCall<unknown, unknown>['context'] & {
    readonly clientAddress: string;
    readonly principal?: { readonly workspaceId: string };
  };
}

/** Serves the dashboard's pages and the API that only these pages call. */
export function createApp(parts: AppParts): RequestListener {
  const { config, backend, store, probes, files, counts, tails, reports, log } = parts;
  const bodies = new BodyBudget();
  const apiBackend = createBackend(backend.resources, { ...backend, team: backend, portal: undefined }, false);
  const sessions = new Sessions({ store, signIn: backend.signIn, config, log });
  const admission = new Admission({ backend, sessions, config });

  /** Checks an API call in this order, calls the endpoint's handler and sends the response. */
  async function serve(endpoint: Endpoint, request: Request, response: PageResponse): Promise<void> {
    const { signedIn, selected } = await admission.admit(endpoint, request, response);
    const context = {
      requestId: response.locals.requestId,
      clientAddress: response.locals.client().address,
      ...(signedIn ? { actor: actorOfUser(signedIn.user.id), actorName: signedIn.user.email } : {}),
      ...selected?.caller,
    };
    if (selected && endpoint.method !== 'get') {
      reports.report({
        response,
        method: endpoint.method.toUpperCase(),
        route: routeOf(endpoint),
        tenant: selected.tenant,
        context,
      });
    }
    if ('api' in endpoint) {
      if (!selected) throw new Error('an endpoint of the API has no tenant');
      sendResponse(response, await serveApi(endpoint.api, { ...selected, context }, request, response));
      return;
    }
    const bodyOptions = { limitKib: bodyLimitKibOf(endpoint), ...bodyOwners(context) };
    const call: OpenCall<unknown, unknown> = {
      query: parseQuery(endpoint.query, request.url),
      body: endpoint.body && parseBody(endpoint.body, await readJsonBody(request, response, bodyOptions)),
      param: (name) => String(request.params[name] ?? ''),
      request,
      response,
      config,
      backend,
      sessions,
      admission,
      store,
      signOutOfProvider,
      context,
      signal: () => abortOnClose(response),
    };
    // The checks above match the endpoint's access type, so the handler gets the fields that its type requires.
    const document = await (endpoint.handle as (given: object) => Promise<object | undefined>)({
      ...call,
      ...(signedIn ? { signedIn } : {}),
      ...(selected
        ? {
            ...selected,
            tails,
            checkAgain: () => admission.authorize(endpoint, request, response),
            idempotencyKey: changeKeyOf(request, sentKeyOf(request), selected.callerId, call.body),
          }
        : {}),
    });
    if (response.headersSent) return;
    sendResponse(response, document ? { status: 200, json: JSON.stringify(document) } : { status: 204 });
  }

  /** Limits how much memory the bodies of an address and of a workspace use. */
  function bodyOwners({ clientAddress, principal }: ApiCaller['context']) {
    return { budget: bodies, owners: [networkOf(clientAddress), ...(principal ? [principal.workspaceId] : [])] };
  }

  /** Serves an endpoint of the API to a user with a role with its permission. */
  function serveApi(endpoint: ApiEndpoint, caller: ApiCaller, request: Request, response: PageResponse) {
    const { tenant, may, context, callerId } = caller;
    const admitted: Admitted = {
      tenant,
      environment: fromEnvironmentMessage(tenant.environment),
      may,
      limits: () => readLimits(backend, config, { tenant, context }),
      requestId: response.locals.requestId,
      trace: untraced,
      context: () => context,
      id: String(request.params[parameterOf(endpoint.path) ?? ''] ?? ''),
      url: () => ownOrigin(request, config) + request.path,
      backend: apiBackend,
      signal: () => abortOnClose(response),
    };
    return serveEndpoint(endpoint, admitted, {
      request,
      response,
      bodyOptions: () => bodyOwners(context),
      idempotencyKeyOf: (sent, body) => changeKeyOf(request, sent, callerId, body),
    });
  }

  const { oidc } = config;
  let signOutOfProvider: SignOutOfProvider | undefined;
  return createHttpApp<Locals>({
    trustedProxies: config.trustedProxies,
    probes,
    log,
    newLocals,
    mount(app) {
      mountProbes(app, probes);
      mountOneClick(app, backend);
      if (oidc) {
        const provider = createProvider(oidc, log);
        signOutOfProvider = mountOidc(app, { config, oidc, provider, signIn: backend.signIn, sessions, log });
      }
      const routes = endpoints.map((endpoint) => ({ method: endpoint.method, path: pathOf(endpoint), endpoint }));
      mountEndpoints<Endpoint, Locals>(app, routes, { prefix: '/api', serve });
      app.get(['/portal', '/portal/{*path}'], (request: Request, response: PageResponse) => {
        allowFrames(response, config.portalFrameAncestors);
        files.send(request, response);
      });
      app.get('/{*path}', (request: Request, response: PageResponse) => files.send(request, response));
    },
    begin(request, response) {
      setPageHeaders(response, response.locals.client().usesHttps);
      logAccess(request, response, log);
      counts.countCall(request, response);
    },
    fail(cause, request, response) {
      const { requestId } = response.locals;
      // Express throws a URIError if it cannot decode the path.
      const thrown = cause instanceof URIError ? routeNotFound(request) : cause;
      const isExpected = thrown instanceof Refusal || (thrown instanceof RmsError && thrown.code !== 'internal_error');
      // The browser has disconnected, which also canceled the RPC calls of this request.
      if (response.destroyed && isExpected) return;
      if (!isExpected) log.error({ err: thrown, request_id: requestId }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendError(response, thrown, requestId);
    },
  });
}

/** Returns the Idempotency-Key that the page sent. Empty without the header. */
function sentKeyOf({ headers }: Request): string {
  return String(headers['idempotency-key'] ?? '');
}

/**
 * Returns the idempotency key of a change: a hash over the Idempotency-Key that the page sent, the user, the path and
 * the body. A page keeps its key until it knows the outcome, and may send another content with it until then. Empty if
 * `sent` is empty.
 */
function changeKeyOf({ path }: Request, sent: string, userId: string, body: unknown): string {
  if (sent === '') return '';
  const content = JSON.stringify([sent, userId, path, body]);
  return `dashboard-${createHash('sha256').update(content).digest('base64url')}`;
}
