import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { Option } from 'commander';
import { allKeys } from './keys.ts';
import type { Services } from './services.ts';

export function revokeKeysOption(): Option {
  return new Option('--revoke-keys', 'also revoke the keys that the user created; requests with them fail immediately');
}

/** Returns the valid keys that a user created in workspaces. */
export async function validKeysBy(
  services: Pick<Services, 'keys'>,
  userId: string,
  workspaceIds: readonly string[],
): Promise<Key[]> {
  const filter = { createdBy: `user:${userId}`, validOnly: true };
  const keys = await Promise.all(workspaceIds.map((workspaceId) => allKeys(services, workspaceId, filter)));
  return keys.flat();
}

/** Returns a removed user's keys for the JSON output. */
export function keysDocument(created: readonly Key[], revoked: readonly Key[]) {
  const one = ({ id, name, workspaceId }: Key) => ({ id, name, workspace_id: workspaceId });
  return { valid_keys: remaining(created, revoked).map(one), revoked_keys: revoked.map(one) };
}

/** Describes a removed user's keys, one per line. */
export function keysLines(created: readonly Key[], revoked: readonly Key[]): string[] {
  const valid = remaining(created, revoked);
  return [
    ...revoked.map(({ id, name }) => `Revoked key ${id} (${name}).`),
    ...valid.map(({ id, name }) => `Key ${id} (${name}) is still valid.`),
    ...(valid.length > 0
      ? [`Revoke keys that nobody needs: rms keys revoke ${valid.map(({ id }) => id).join(' ')}`]
      : []),
  ];
}

function remaining(created: readonly Key[], revoked: readonly Key[]): Key[] {
  const ended = new Set(revoked.map(({ id }) => id));
  return created.filter(({ id }) => !ended.has(id));
}
