// A gateway without authentication, limits and revocation: whoever calls is the workspace of OPEN_WORKSPACE_ID. Only for
// the benchmark of what those cost. Nothing but the admission differs from the real one.

import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { readSettings } from '@rms/service';
import { createApp } from '../../services/gateway/dist/app.js';
import { createBackend } from '../../services/gateway/dist/backend/backend.js';
import { readGatewayConfig } from '../../services/gateway/dist/config.js';
import { createGatewayContext } from '../../services/gateway/dist/context.js';
import { listen } from '../../services/gateway/dist/http/listener.js';
import { createProbes } from '../../services/gateway/dist/probes.js';
import { RequestLog } from '../../services/gateway/dist/requests/request-log.js';

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
const { host, livePort: port, maxConnections } = config;
const { address } = await listen({ host, port, handle, maxConnections, log: context.log });
process.send(address);
