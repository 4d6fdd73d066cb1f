import type { PlansService } from '@rms/proto/rms/auth/v1/plans_service_pb';
import type { Handlers } from '@rms/rpc';
import { toPlanMessage } from '../plan/plan-message.ts';
import { listAllPlans } from '../plan/plan-queries.ts';
import type { HandlerParts } from './handler.ts';

export function listPlans({ pool }: HandlerParts): Handlers<typeof PlansService>['listPlans'] {
  return async () => ({ plans: (await listAllPlans(pool)).map(toPlanMessage) });
}
