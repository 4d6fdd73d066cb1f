import { workspaceFinder } from '@rms/base/tenant';
import type { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import { findOwners } from '../workspace/lookup-queries.ts';
import type { HandlerParts } from './parts.ts';

/** Finds the workspaces that have a webhook, delivery or replay with an ID, or events of a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return workspaceFinder((id, limit) => findOwners(pool, id, limit));
}
