import type { Keys } from '@rms/base/secrets';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readUnsubscribeToken } from '../notify/unsubscribe-token.ts';
import { refuse } from '../refuse.ts';
import { kindNames } from '../rule/rule-message.ts';
import { readUnsubscribed } from '../rule/rule-queries.ts';
import type { HandlerParts } from './handler.ts';

export function describeUnsubscribe(
  { pool }: HandlerParts,
  keys: Keys,
): Handlers<typeof AlertsService>['describeUnsubscribe'] {
  return async ({ token }) => {
    const unsubscription = readUnsubscribeToken(keys, token) ?? refuse('token', 'is not a valid unsubscribe token');
    const { workspaceId, environment, kind, address } = unsubscription;
    const all = await readUnsubscribed(pool, unsubscription);
    return {
      address,
      workspaceId,
      environment: toEnvironmentMessage(environment),
      kind: kindNames.toValue(kind),
      unsubscribed: all.some((one) => one.kind === kind && one.address === address.toLowerCase()),
    };
  };
}
