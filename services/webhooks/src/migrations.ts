import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/postgres/db';

/** The numbered SQL files of this service and the schema that they create. */
export const migrations: Migration = {
  schema: 'webhooks',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { webhooks: 'select, insert, update, delete' },
};
