import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/db';

/** The audit schema. This package owns it; several services append to it. */
export const migrations: Migration = {
  schema: 'audit',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  // Append-only: no service may update or delete.
  grants: { auth: 'select, insert', webhooks: 'insert', alerts: 'insert', resources: 'insert' },
};
