import { RmsError } from '@rms/errors';
import type { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import { findOwners } from '../lookup/lookup-queries.ts';
import type { HandlerParts } from './parts.ts';

const maxWorkspaces = 20;

/** Finds the workspaces that have a webhook, delivery or replay with an ID, or events of a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return async ({ id }) => {
    if (id === '') throw new RmsError('invalid_request', { details: [{ field: 'id', message: 'must not be empty' }] });
    return { workspaceIds: await findOwners(pool, id, maxWorkspaces) };
  };
}
