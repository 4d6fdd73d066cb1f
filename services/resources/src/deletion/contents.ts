import type { WorkspaceContents } from '@rms/postgres/workspace-deletion';

/** All tables of this service that have rows of workspaces. */
export const contents: WorkspaceContents = {
  schema: 'resources',
  tables: [
    { name: 'outbox.events', by: 'id' },
    { name: 'resources.resources', by: 'id' },
    { name: 'resources.metadata_pairs', by: 'pair' },
    { name: 'resources.resource_counts', by: 'status' },
    { name: 'resources.idempotency_keys', by: 'key' },
  ],
};
