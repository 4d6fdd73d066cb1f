import { RmsError } from '@rms/base/errors';
import { toEnvironments } from '@rms/base/tenant';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { toRequestMessage } from '../request/request-message.ts';
import { countLeftOut, listRequestsWithId } from '../request/request-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxListed = 100;

export function listRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['listRequests'] {
  return async ({ workspaceId, environment, requestId }) => {
    if (requestId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
    }
    const scope = { workspaceId, environments: toEnvironments(environment), requestId };
    const [requests, leftOut] = await Promise.all([
      listRequestsWithId(pool, scope, maxListed),
      countLeftOut(pool, scope),
    ]);
    return { requests: requests.map(toRequestMessage), leftOut: BigInt(leftOut) };
  };
}
