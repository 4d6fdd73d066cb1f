import { createRequire } from 'node:module';
import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { type Call, defineEndpoint } from '../endpoint.ts';
import { oneResponse } from '../single-object.ts';
import { shownTime } from '../time-schemas.ts';
import { timeOf } from '../times.ts';

const limit = z.int().min(1).nullable();

const workspace = z
  .strictObject({
    id: z.string().meta({ pattern: '^ws_[0-9a-z]+$', examples: ['ws_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('workspace'),
    name: z.string(),
    environment: z.enum(['live', 'sandbox']).describe('Environment of the key.'),
    plan: z.string().nullable().describe('Null: the limits of the installation apply.'),
    limits: z
      .strictObject({
        requests_per_window: limit.describe('Limit of this key.'),
        workspace_requests_per_window: limit.describe('Limit of all keys of the workspace in this environment.'),
        window_seconds: z.int().min(1),
        requests_per_month: limit.describe('Limit of all keys of the workspace in this environment.'),
      })
      .describe('Limits. Null: no limit.'),
    usage: z
      .strictObject({ requests: z.int().min(0), month_start: shownTime, month_end: shownTime })
      .nullable()
      .describe('Requests of this month (UTC) in this environment. Null if they are not counted, or unavailable.'),
    created_at: shownTime,
    server_time: shownTime.describe('Does not change the ETag.'),
    version: z
      .string()
      .describe('Version of the service.')
      .meta({ examples: ['0.1.0'] }),
  })
  .meta({ id: 'Workspace' });

export const getWorkspace = defineEndpoint({
  method: 'get',
  path: '/v1/workspace',
  operationId: 'getWorkspace',
  summary: 'Get the workspace',
  tag: 'Workspace',
  permission: 'workspace:read',
  conditional: true,
  success: {
    status: 200,
    description: 'The workspace of the key.',
    schema: z.strictObject({ data: workspace }),
  },
  async handle(call) {
    const { context, environment, tenant, backend, signal } = call;
    const [limits, { workspace: found }, usage] = await Promise.all([
      call.limits(),
      backend.workspaces.getWorkspace({ workspaceId: tenant.workspaceId }, { context: context(), signal: signal() }),
      usageOf(call, backend),
    ]);
    if (!found) throw new Error('auth returned no workspace');
    const orNull = (limit: number) => limit || null;
    const stable = {
      id: found.id,
      type: 'workspace',
      name: found.name,
      environment: environment,
      plan: found.plan || null,
      limits: {
        requests_per_window: orNull(limits.rateLimitRequests),
        workspace_requests_per_window: orNull(limits.workspaceRateLimitRequests),
        window_seconds: limits.rateLimitWindowSeconds,
        requests_per_month: orNull(limits.monthlyQuota),
      },
      usage,
      created_at: timeOf(found.createTime),
    };
    const json = JSON.stringify({ ...stable, server_time: new Date().toISOString(), version: versionOfService() });
    return oneResponse(200, { json, stableJson: JSON.stringify(stable), version: 0n });
  },
});

/** Returns the usage of this month; null if it is not counted or alerts is down, which the other fields do not need. */
async function usageOf({ tenant, context, signal }: Call<unknown, unknown>, { usage }: Backend) {
  const { workspaceId, environment } = tenant;
  const options = { context: context(), signal: signal() };
  const month = await usage?.getUsage({ workspaceId, environment, span: UsageSpan.HOUR }, options).then(
    ({ month }) => month,
    () => undefined,
  );
  if (!month) return null;
  return { requests: Number(month.used), month_start: timeOf(month.startTime), month_end: timeOf(month.endTime) };
}

function versionOfService(): string {
  return (createRequire(import.meta.url)('../../package.json') as { version: string }).version;
}

export const workspaceEndpoints = [getWorkspace];
