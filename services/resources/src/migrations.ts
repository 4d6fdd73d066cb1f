import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/postgres/db';

/** The numbered SQL files of this service and the schema that they create. */
export const migrations: Migration = {
  schema: 'resources',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { resources: 'select, insert, update, delete' },
};

/** The schema of events to publish. */
export const outboxMigrations: Migration = {
  schema: 'outbox',
  directory: fileURLToPath(new URL('../migrations/outbox/', import.meta.url)),
  grants: { resources: 'select, insert, update, delete' },
};
