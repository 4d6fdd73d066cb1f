import type { Queryable } from '@rms/postgres/db';
import type { StoredKey } from './key.ts';

/**
 * Returns the names of key creators, by creator ("user:usr_…"): the email address of a user, a key's name,
 * the operator. Deleted users are absent.
 */
export async function readCreatorNames(
  db: Queryable,
  keys: readonly Pick<StoredKey, 'createdBy'>[],
): Promise<ReadonlyMap<string, string>> {
  const creators = [...new Set(keys.map(({ createdBy }) => createdBy))];
  const idsOf = (kind: string) =>
    creators.filter((creator) => creator.startsWith(kind)).map((creator) => creator.slice(kind.length));
  const { rows } = await db.query<{ creator: string; name: string }>(
    `select 'user:' || id as creator, email as name from auth.users where id = any($1)
     union all
     select 'key:' || id, name from auth.keys where id = any($2)`,
    [idsOf('user:'), idsOf('key:')],
  );
  return new Map([
    ...idsOf('operator:').map((name) => [`operator:${name}`, name] as const),
    ...rows.map(({ creator, name }) => [creator, name] as const),
  ]);
}
