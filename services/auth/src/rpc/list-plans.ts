import type { Queryable } from '@rms/postgres/db';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Plan } from '../plan/plan.ts';
import { toPlanMessage } from '../plan/plan-message.ts';
import { type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { HandlerParts } from './handler.ts';

export function listPlans({ pool }: HandlerParts): Handlers<typeof PlansService>['listPlans'] {
  return async () => ({ plans: (await listAllPlans(pool)).map(toPlanMessage) });
}

/** Returns all plans, sorted by name. */
async function listAllPlans(db: Queryable): Promise<Plan[]> {
  const { rows } = await db.query<{ name: string } & PlanColumns>(
    `select name, ${planColumns} from auth.plans order by name`,
  );
  return rows.map((row) => ({ name: row.name, ...toPlanLimits(row) }));
}
