import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import { planDeleted } from '../plan/plan-audit.ts';
import { deletePlan as removePlan } from '../plan/plan-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

/** Deletes a plan. Throws `conflict` if a workspace has it. */
export function deletePlan({ pool, log }: HandlerParts): Handlers<typeof PlansService>['deletePlan'] {
  return async ({ name }, context) => {
    await inTransaction(pool, async (tx) => {
      const { plan, workspaces } = found(await removePlan(tx, name), 'plan', name);
      if (workspaces > 0) {
        const users = `${workspaces} ${workspaces === 1 ? 'workspace has' : 'workspaces have'}`;
        throw new RmsError('conflict', { message: `${users} the plan "${name}". Set another plan first.` });
      }
      await appendAudit(tx, context, [planDeleted(plan)]);
    });
    log.info({ plan: name }, 'plan deleted');
    return {};
  };
}
