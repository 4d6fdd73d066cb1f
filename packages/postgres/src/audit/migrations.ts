import { fileURLToPath } from 'node:url';
import type { Migration } from '../db/index.ts';

const appends = { entries: 'insert', throttles: 'select, insert, update' };

/** The audit schema. This package owns it; several services append to it. */
export const migrations: Migration = {
  schema: 'audit',
  directory: fileURLToPath(new URL('../../migrations/audit/', import.meta.url)),
  // Entries are append-only: no service may update or delete them.
  grants: {
    auth: { entries: 'select, insert', throttles: 'select, insert, update, delete' },
    webhooks: appends,
    alerts: appends,
    resources: appends,
  },
};
