import { createBackend, endpoints } from '@rms/api';
import { BodyBudget, type Listener, listen } from '@rms/net/http';
import { type MetricsServer, type Service, serveMetrics } from '@rms/runtime/service';
import { createApp } from './app.ts';
import { Admission } from './checks/admission.ts';
import { FailedAuthentications } from './checks/failed-authentications.ts';
import { KeyUses } from './checks/key-uses.ts';
import { Principals } from './checks/principals.ts';
import { RequestUsage } from './checks/request-usage.ts';
import type { GatewayConfig } from './config.ts';
import type { GatewayContext } from './context.ts';
import { createRequestMetrics } from './http/request-metrics.ts';
import { createGatewayMetrics } from './metrics.ts';
import { createProbes, readState, showReadiness } from './probes.ts';
import { RequestLog } from './requests/request-log.ts';

export interface GatewayService extends Service {
  /** For example "http://127.0.0.1:8080". Available after the service has started. */
  readonly addresses: { readonly live: string; readonly sandbox: string };
}

/** Time limit for requests in flight to finish on shutdown. */
const graceMs = 20_000;
/** Paths that metrics use as labels: the API and the probes. */
const paths = [...endpoints.map(({ path }) => path), '/healthz', '/livez', '/readyz'];

/**
 * Creates the gateway: the REST API with one listener per environment.
 *
 *   start: limiter → live listener → sandbox listener
 *   stop:  not ready → no new connections, requests in flight finish → clients and limiter close
 */
export function createGateway(config: GatewayConfig, context: GatewayContext): GatewayService {
  const { auth, resources, webhooks, deliveries, events, health, limiter, log, metrics } = context;
  const { workspaces, audit } = context;
  const clients = {
    keys: auth,
    workspaces,
    audit,
    usage: context.usage,
    alerts: context.alerts,
    team: { members: context.members, invitations: context.invitations },
    portal: { sessions: context.portalSessions, dashboardUrl: config.dashboardUrl },
    // Timelines do not show the email addresses of members to API keys.
    members: undefined,
    requests: context.requests,
    webhooks,
    deliveries,
    events,
  };
  const backend = createBackend(resources, clients, true);
  const probes = createProbes({ health, limiter });
  const { nowMs } = limiter;
  const principals = {
    live: new Principals(auth, 'live', { limits: config.limits, nowMs }),
    sandbox: new Principals(auth, 'sandbox', { limits: config.limits, nowMs }),
  };
  const failures = new FailedAuthentications(limiter, config.authFailureLimit);
  const keyUses = new KeyUses(context.keyUses, log);
  const usage = new RequestUsage(context.usage, { log, nowMs });
  const counts = createGatewayMetrics(metrics);
  const requests = new RequestLog({
    auth: context.requests,
    scope: config.requestLog,
    dropped: counts.countLostRequestRecords,
    log,
  });
  const bodies = new BodyBudget();
  const requestMetrics = createRequestMetrics(metrics);
  showReadiness(metrics, probes);
  let metricsServer: MetricsServer | undefined;
  const ports = { live: config.livePort, sandbox: config.sandboxPort };
  const listeners: Partial<Record<keyof typeof ports, Listener>> = {};
  const unsubscribe = limiter.onMarkersLost(() => {
    principals.live.forgetAll();
    principals.sandbox.forgetAll();
  });
  let stopping: Promise<void> | undefined;

  const addressOf = (environment: keyof typeof ports) => {
    const listener = listeners[environment];
    if (!listener) throw new Error('the gateway has not started');
    return listener.address;
  };
  const stop = async () => {
    probes.draining = true;
    await Promise.all([listeners.live?.stop(graceMs), listeners.sandbox?.stop(graceMs)]);
    await Promise.all([keyUses.stop(), usage.stop(), requests.stop()]);
    await metricsServer?.stop();
    unsubscribe();
    for (const client of [
      auth,
      workspaces,
      audit,
      context.keyUses,
      ...(context.usage ? [context.usage] : []),
      ...(context.alerts ? [context.alerts] : []),
      context.members,
      context.invitations,
      context.portalSessions,
      context.requests,
      resources,
      webhooks,
      deliveries,
      events,
      ...Object.values(health),
    ])
      client.close();
    await limiter.stop();
  };
  return {
    name: 'gateway',
    get addresses() {
      return { live: addressOf('live'), sandbox: addressOf('sandbox') };
    },
    async start() {
      if (config.metricsAddress)
        metricsServer = await serveMetrics(config.metricsAddress, [metrics], () =>
          readState(probes, listeners.sandbox !== undefined),
        );
      await limiter.start();
      keyUses.start();
      usage.start();
      requests.start();
      for (const environment of ['live', 'sandbox'] as const) {
        const admission = new Admission({
          environment,
          principals: principals[environment],
          limiter,
          failures,
          keyUses,
          usage,
          metrics: counts,
          log,
        });
        const admit: Admission['admit'] = (request, response, endpoint) => admission.admit(request, response, endpoint);
        const countRequest = requestMetrics.countRequests(environment, paths);
        const app = createApp({ environment, config, admit, backend, probes, requests, bodies, countRequest, log });
        const listener = await listen({
          host: config.host,
          port: ports[environment],
          handle: app,
          maxConnections: config.maxConnections,
          maxConnectionsPerAddress: config.maxConnectionsPerAddress,
          maxHeadersKib: config.maxHeadersKib,
          trustedProxies: config.trustedProxies,
          keepAliveMs: config.keepAliveMs,
          catalogUrl: config.errorCatalogUrl,
          log,
          onRefused: (reason) => requestMetrics.refused(environment, reason),
        });
        listeners[environment] = listener;
        requestMetrics.showConnections(environment, listener.connections);
        log.info({ environment, address: addressOf(environment) }, 'serving');
      }
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}
