import { environments, toEnvironmentMessage } from '@rms/base/tenant';
import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { TenantCall } from './endpoint.ts';

type Call = Pick<TenantCall<unknown, unknown>, 'backend' | 'tenant' | 'context' | 'signal'>;

/** Maximum number of targets that are looked up. Larger pages are exports, which have no links. */
const maxTargets = 100;

/**
 * Returns the target IDs of audit entries that exist and have a page: keys, which are never deleted, webhooks
 * and resources. Webhooks or resources are missing if their service is unavailable, so that the log stays readable.
 */
export async function existingTargets(call: Call, entries: readonly AuditEntry[]): Promise<Set<string>> {
  const { requestId = '', clientAddress = '', actor = '' } = call.context;
  const signal = call.signal();
  const found = new Set(entries.map(({ targetId }) => targetId).filter((id) => id.startsWith('key_')));
  if (entries.length > maxTargets) return found;
  await Promise.all(
    environments.map(toEnvironmentMessage).flatMap((environment) => {
      const tenant = { workspaceId: call.tenant.workspaceId, environment };
      const idsOf = (prefix: string) => [
        ...new Set(
          entries
            .filter((entry) => entry.environment === environment && entry.targetId.startsWith(prefix))
            .map(({ targetId }) => targetId),
        ),
      ];
      const context = { requestId, clientAddress, actor, principal: tenant };
      const options = { context, signal };
      const [webhookIds, resourceIds] = [idsOf('wh_'), idsOf('res_')];
      return [
        webhookIds.length > 0 &&
          call.backend.webhooks
            .batchGetWebhookHealth({ ...tenant, ids: webhookIds }, options)
            .then(({ healths }) => {
              for (const { webhookId } of healths) found.add(webhookId);
            })
            .catch(ignore),
        resourceIds.length > 0 &&
          call.backend.resources
            .batchGetResources({ requests: resourceIds.map((id) => ({ context, id })) }, options)
            .then(({ results }) => {
              for (const { result } of results) if (result.case === 'resource') found.add(result.value.id);
            })
            .catch(ignore),
      ];
    }),
  );
  return found;
}

function ignore(): void {}
