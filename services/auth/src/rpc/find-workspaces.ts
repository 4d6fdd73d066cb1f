import type { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { findOwners } from '../workspace/lookup-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxWorkspaces = 20;

/** Finds the workspaces that have a key or a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return async ({ id }) => {
    if (id === '') throw invalid('id', 'must not be empty');
    return { workspaceIds: await findOwners(pool, id, maxWorkspaces) };
  };
}
