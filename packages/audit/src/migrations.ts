import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/db';

/** The log's one table. It belongs to this package, whichever service appends to it. */
export const migrations: Migration = {
  schema: 'audit',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  // Append-only: nobody changes or deletes.
  grants: { auth: 'select, insert', webhooks: 'insert', alerts: 'insert' },
};
