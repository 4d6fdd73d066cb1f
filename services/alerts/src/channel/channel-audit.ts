import { type AuditedAction, type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { Channel } from './channel.ts';

const fields: AuditedFields<Channel> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  type: 'shown',
  name: 'shown',
  addresses: 'shown',
  url: 'shown',
  secret: { secret: 'secret' },
  hint: 'omitted',
  version: 'omitted',
  createdAt: 'omitted',
  updatedAt: 'omitted',
};

/** Returns what changed between two locked or written states of a channel; undefined: it did not or does not exist. */
export function channelChanges(before: Channel | undefined, after: Channel | undefined) {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a channel. */
export function channelEntry(
  { workspaceId, environment, id, name }: Pick<Channel, 'workspaceId' | 'environment' | 'id' | 'name'>,
  action: AuditedAction,
): NewAuditEntry {
  return { workspaceId, environment, target: { id, name }, ...action };
}
