import { RmsError } from '@rms/base/errors';
import type { WorkspaceContents } from '@rms/postgres/workspace-deletion';

/** All tables of this service that have rows of workspaces, except the workspaces themselves. */
export const contents: WorkspaceContents = {
  schema: 'auth',
  tables: [
    { name: 'auth.requests', by: 'started_at' },
    { name: 'auth.request_counts', by: 'day' },
    { name: 'auth.idempotency_keys', by: 'key' },
    { name: 'auth.key_uses', by: 'key_id' },
    { name: 'auth.key_refusals', by: 'key_id' },
    { name: 'auth.pending_markers', by: 'key_id' },
    { name: 'auth.portal_sessions', by: 'id' },
    { name: 'auth.keys', by: 'id' },
    { name: 'auth.operational_events', by: 'id' },
    { name: 'auth.invitations', by: 'id', acrossEnvironments: true },
    { name: 'auth.memberships', by: 'user_id', acrossEnvironments: true },
  ],
};

/** Returns a `conflict` error: a deletion step was called without the first step. */
export function notBegun(): RmsError {
  return new RmsError('conflict', { message: 'The deletion of the workspace has not begun.' });
}
