import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkPlan } from '../plan/plan.ts';
import { planSet } from '../plan/plan-audit.ts';
import { fromPlanMessage, toPlanMessage } from '../plan/plan-message.ts';
import { lockPlan, updatePlan } from '../plan/plan-queries.ts';
import type { HandlerParts } from './handler.ts';

export function setPlan({ pool, log }: HandlerParts): Handlers<typeof PlansService>['setPlan'] {
  return async (request, context) => {
    if (!request.plan) throw new RmsError('invalid_request', { details: [{ field: 'plan', message: 'is required' }] });
    const plan = fromPlanMessage(request.plan);
    checkPlan(plan);
    await inTransaction(pool, async (tx) => {
      const before = await lockPlan(tx, plan.name);
      await updatePlan(tx, plan);
      await appendAudit(tx, context, [planSet(before, plan)]);
    });
    log.info({ plan: plan.name }, 'plan set');
    return { plan: toPlanMessage(plan) };
  };
}
