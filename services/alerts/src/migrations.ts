import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/postgres/db';

/** The numbered SQL files of this service, and their schema. */
export const migrations: Migration = {
  schema: 'alerts',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { alerts: 'select, insert, update, delete' },
};
