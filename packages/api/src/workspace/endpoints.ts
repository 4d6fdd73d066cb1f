import { type Call, defineEndpoint, oneResponse } from '../endpoint.ts';
import { presentTimeOf } from '../times.ts';
import { versionOfService } from '../version.ts';
import { limitsDocument, workspaceDocument } from './document.ts';
import { oneWorkspace, type Workspace } from './schema.ts';

const getWorkspace = defineEndpoint({
  method: 'get',
  path: '/v1/workspace',
  operationId: 'getWorkspace',
  summary: 'Get the workspace',
  tag: 'Workspace',
  permission: 'workspace:read',
  conditional: true,
  success: { status: 200, description: 'The workspace of the key.', schema: oneWorkspace },
  async handle(call) {
    const { context, environment, tenant, backend, signal } = call;
    const [limits, { workspace: found, keyCount, maxKeys }, webhooks, usage] = await Promise.all([
      call.limits(),
      backend.workspaces.getWorkspace(
        { workspaceId: tenant.workspaceId, withKeys: true },
        { context: context(), signal: signal() },
      ),
      webhookCountOf(call),
      usageOf(call),
    ]);
    const maxWebhooks = limits.maxWebhooks ?? webhooks?.defaultMaxWebhooks;
    const objects: Workspace['objects'] = {
      keys: { count: Number(keyCount ?? 0), limit: Number(maxKeys) || null },
      webhooks: webhooks ? { count: Number(webhooks.count), limit: Number(maxWebhooks) || null } : null,
    };
    const stable = { ...workspaceDocument(found), environment, limits: limitsDocument(limits), objects, usage };
    const json = JSON.stringify({ ...stable, server_time: new Date().toISOString(), version: versionOfService() });
    return oneResponse(200, { json, stableJson: JSON.stringify(stable), version: 0n });
  },
});

/** Counts the webhooks. Undefined if the webhooks service is down, which the other fields do not need. */
function webhookCountOf({ tenant: { workspaceId }, context, signal, backend }: Call<unknown, unknown>) {
  const options = { context: context(), signal: signal() };
  return backend.webhooks.countWebhooks({ workspaceId }, options).catch(() => undefined);
}

/** Returns the usage of this month; null if it is not counted or alerts is down, which the other fields do not need. */
async function usageOf({ tenant, context, signal, backend }: Call<unknown, unknown>): Promise<Workspace['usage']> {
  const { workspaceId, environment } = tenant;
  const options = { context: context(), signal: signal() };
  const month = await backend.usage?.getUsage({ workspaceId, environment }, options).then(
    ({ month }) => month,
    () => undefined,
  );
  if (!month?.startTime || !month.endTime) return null;
  return {
    requests: Number(month.used),
    month_start: presentTimeOf(month.startTime),
    month_end: presentTimeOf(month.endTime),
  };
}

export const workspaceEndpoints = [getWorkspace];
