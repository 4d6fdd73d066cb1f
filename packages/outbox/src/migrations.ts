import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/db';

/** The table of events to publish. It belongs to this package, whichever service appends to it. */
export const migrations: Migration = {
  schema: 'outbox',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { resources: 'select, insert, update, delete' },
};
