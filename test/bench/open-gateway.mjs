// A gateway without authentication, limits and revocation: every request acts for the workspace OPEN_WORKSPACE_ID. Used
// only by the benchmark of the cost of those checks. It differs from the real gateway only in `admit`.

import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { readSettings } from '@rms/settings';
import { listen } from '../../packages/http/src/listener.ts';
import { createApp } from '../../services/gateway/src/app.ts';
import { createBackend } from '../../services/gateway/src/backend/backend.ts';
import { readGatewayConfig } from '../../services/gateway/src/config.ts';
import { createGatewayContext } from '../../services/gateway/src/context.ts';
import { createProbes } from '../../services/gateway/src/probes.ts';
import { RequestLog } from '../../services/gateway/src/requests/request-log.ts';

const settings = readSettings(process.env);
const config = readGatewayConfig(settings);
const context = createGatewayContext(settings);
const principal = {
  workspaceId: process.env.OPEN_WORKSPACE_ID,
  environment: Environment.LIVE,
  keyId: 'key_open',
  scope: Scope.ADMIN,
};
const handle = createApp({
  environment: 'live',
  config,
  admit: async () => ({ principal }),
  backend: createBackend(context.resources, context.webhooks),
  probes: createProbes(context),
  requests: new RequestLog({ auth: context.requests, scope: 'none', dropped() {}, log: context.log }),
  log: context.log,
});
const { host, livePort: port, maxConnections, trustedProxies } = config;
const { address } = await listen({
  host,
  port,
  handle,
  maxConnections,
  maxConnectionsPerAddress: 0,
  trustedProxies,
  log: context.log,
});
process.send(address);
