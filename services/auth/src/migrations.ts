import { fileURLToPath } from 'node:url';
import type { Migration } from '@rms/postgres/db';

/** The numbered SQL files of this service, and their schema. */
export const migrations: Migration = {
  schema: 'auth',
  directory: fileURLToPath(new URL('../migrations/', import.meta.url)),
  grants: { auth: 'select, insert, update, delete' },
};
