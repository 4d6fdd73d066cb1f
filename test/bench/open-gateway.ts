// A gateway without authentication, limits and revocation: every request acts for the workspace OPEN_WORKSPACE_ID. Used
// only by the benchmark of the cost of those checks. It differs from the real gateway only in `admit`.

import { create } from '@bufbuild/protobuf';
import { createBackend, endpoints } from '@rms/api';
import { parseCidrs } from '@rms/base/cidr';
import { Environment, PrincipalSchema, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { readSettings } from '@rms/runtime/settings';
import { BodyBudget } from '../../packages/net/src/http/body.ts';
import { listen } from '../../packages/net/src/http/listener.ts';
import { createApp } from '../../services/gateway/src/app.ts';
import type { Caller } from '../../services/gateway/src/checks/principals.ts';
import { readGatewayConfig } from '../../services/gateway/src/config.ts';
import { createGatewayContext } from '../../services/gateway/src/context.ts';
import { createRequestMetrics } from '../../services/gateway/src/http/request-metrics.ts';
import { createProbes } from '../../services/gateway/src/probes.ts';
import { RequestLog } from '../../services/gateway/src/requests/request-log.ts';

const settings = readSettings(process.env);
const config = readGatewayConfig(settings);
const context = createGatewayContext(settings);
const caller: Caller = {
  principal: create(PrincipalSchema, {
    workspaceId: process.env.OPEN_WORKSPACE_ID ?? '',
    environment: Environment.LIVE,
    keyId: 'key_open',
    scope: Scope.ADMIN,
  }),
  grant: { scope: 'admin', permissions: [] },
  keyName: 'open',
  allowedIps: parseCidrs([]),
  version: 1,
  limits: config.limits,
  maxWebhooks: undefined,
  fresh: true,
};
const { auth: keys, resources, ...clients } = context;
const paths = endpoints.map(({ path }) => path);
const handle = createApp({
  environment: 'live',
  config,
  admit: async () => caller,
  backend: createBackend(resources, { ...clients, keys, team: clients, portal: undefined, members: undefined }, true),
  probes: createProbes(context),
  countRequest: createRequestMetrics(context.metrics).countRequests('live', paths),
  requests: new RequestLog({ auth: context.requests, scope: 'none', dropped() {}, log: context.log }),
  bodies: new BodyBudget(),
  log: context.log,
});
const { host, livePort: port, maxConnections, maxHeadersKib, trustedProxies, keepAliveMs } = config;
const { address } = await listen({
  host,
  port,
  handle,
  maxConnections,
  maxConnectionsPerAddress: 0,
  maxHeadersKib,
  trustedProxies,
  keepAliveMs,
  log: context.log,
  onRefused() {},
});
process.send?.(address);
