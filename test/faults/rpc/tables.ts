import { alertsEntries } from './alerts-entries.ts';
import { authEntries } from './auth-entries.ts';
import { deletionEntries } from './deletion-entries.ts';
import type { Entries } from './entry.ts';
import { resourcesEntries } from './resources-entries.ts';
import type { Services } from './rpc.ts';
import { userEntries } from './user-entries.ts';
import { webhooksEntries } from './webhooks-entries.ts';

/** Every service, with the calls of each of its methods by strangers. */
export const tables: Entries<keyof Services> = {
  ...alertsEntries,
  ...authEntries,
  ...deletionEntries,
  ...resourcesEntries,
  ...userEntries,
  ...webhooksEntries,
};
