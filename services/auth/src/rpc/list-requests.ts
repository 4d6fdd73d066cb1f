import { RmsError } from '@rms/errors';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { fromEnvironmentMessage } from '../key/key-message.ts';
import { toRequestMessage } from '../request/request-message.ts';
import { listRequestsWithId } from '../request/request-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

const listedAtMost = 100;

export function listRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['listRequests'] {
  return ({ workspaceId, environment, requestId }) =>
    translated(async () => {
      if (requestId === '') {
        throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
      }
      const both = environment === Environment.UNSPECIFIED;
      const environments = both ? (['live', 'sandbox'] as const) : [fromEnvironmentMessage(environment)];
      const scope = { workspaceId, environments: [...environments], requestId };
      return { requests: (await listRequestsWithId(pool, scope, listedAtMost)).map(toRequestMessage) };
    });
}
