import type { Keys } from '@rms/base/secrets';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readConfirmationToken } from '../recipient/confirmation-token.ts';
import { readConfirmed } from '../recipient/recipient-queries.ts';
import type { Workspaces } from '../recipient/workspaces.ts';
import { refuse } from '../refuse.ts';
import type { HandlerParts } from './handler.ts';

export function describeRecipient(
  { pool, time }: HandlerParts,
  workspaces: Pick<Workspaces, 'nameOf'>,
  keys: Keys,
): Handlers<typeof AlertsService>['describeRecipient'] {
  return async ({ token }) => {
    const { workspaceId, address } =
      readConfirmationToken(keys, token, time.nowMs()) ?? refuse('token', 'is not a valid confirmation token');
    const confirmed = await readConfirmed(pool, workspaceId, [address]);
    return { address, workspaceName: await workspaces.nameOf(workspaceId), confirmed: confirmed.size > 0 };
  };
}
