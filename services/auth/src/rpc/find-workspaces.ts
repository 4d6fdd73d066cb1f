import { workspaceFinder } from '@rms/base/tenant';
import type { LookupService } from '@rms/proto/rms/auth/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import { findOwners } from '../workspace/lookup-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Finds the workspaces that have a key or a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return workspaceFinder((id, limit) => findOwners(pool, id, limit));
}
