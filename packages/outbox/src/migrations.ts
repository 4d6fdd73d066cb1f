import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/db';

/** The schema of events to publish. This package owns it; the resources service uses it. */
export const migrations: Migration = {
  schema: 'outbox',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { resources: 'select, insert, update, delete' },
};
