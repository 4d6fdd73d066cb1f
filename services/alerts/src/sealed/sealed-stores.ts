import type { Environment } from '@rms/base/tenant';
import type { SealedStore } from '@rms/postgres/reencryption';
import { channelContext, emailContext, responseContext } from './contexts.ts';

type Key = readonly [workspaceId: string, environment: Environment, id: string];

/** All encrypted columns of this service. */
export const sealedStores: readonly SealedStore<Key>[] = [
  {
    table: 'alerts.emails',
    keyColumns: ['workspace_id', 'environment', 'id'],
    column: 'content',
    live: "state = 'queued'",
    context: ([workspaceId, environment, id]) => emailContext({ workspaceId, environment, id }),
  },
  {
    table: 'alerts.channels',
    keyColumns: ['workspace_id', 'environment', 'id'],
    column: 'secret',
    live: 'secret is not null',
    context: ([workspaceId, environment, id]) => channelContext({ workspaceId, environment, id }),
  },
  {
    table: 'alerts.idempotency_keys',
    keyColumns: ['workspace_id', 'environment', 'key'],
    column: 'answer',
    live: 'expires_at > now()',
    context: ([workspaceId, environment, key]) => responseContext({ workspaceId, environment, key }),
  },
];
