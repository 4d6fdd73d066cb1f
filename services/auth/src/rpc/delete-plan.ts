import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Plan } from '../plan/plan.ts';
import { planDeleted } from '../plan/plan-audit.ts';
import { type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
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

/**
 * Deletes a plan unless workspaces have it. Returns the plan and the number of these workspaces; undefined if there is
 * no such plan. No workspace can get the plan until the transaction ends.
 */
async function removePlan(tx: Queryable, name: string): Promise<{ plan: Plan; workspaces: number } | undefined> {
  const { rows } = await tx.query<PlanColumns>(`select ${planColumns} from auth.plans where name = $1 for update`, [
    name,
  ]);
  const [row] = rows;
  if (!row) return undefined;
  const count = await tx.query<{ workspaces: number }>(
    'select count(*)::integer as workspaces from auth.workspaces where plan = $1',
    [name],
  );
  const workspaces = count.rows[0]?.workspaces ?? 0;
  if (workspaces === 0) await tx.query('delete from auth.plans where name = $1', [name]);
  return { plan: { name, ...toPlanLimits(row) }, workspaces };
}
