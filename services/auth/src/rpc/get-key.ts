import { type Environment, toEnvironments } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import type { StoredKey } from '../key/key.ts';
import { toKeyMessages } from '../key/key-message.ts';
import { columns, type KeyRow, toKey } from '../key/key-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function getKey({ pool }: HandlerParts): Handlers<typeof KeysService>['getKey'] {
  return async ({ workspaceId, id, environment }) => {
    const key = found(await findKey(pool, workspaceId, id, toEnvironments(environment)), 'key', id);
    const [message] = await toKeyMessages(pool, [key]);
    return { key: message };
  };
}

/** Returns a key if it belongs to one of these environments. */
async function findKey(
  db: Queryable,
  workspaceId: string,
  id: string,
  environments: readonly Environment[],
): Promise<StoredKey | undefined> {
  const { rows } = await db.query<KeyRow>(
    `select ${columns} from auth.keys where workspace_id = $1 and environment = any($2) and id = $3`,
    [workspaceId, environments, id],
  );
  return rows[0] && toKey(rows[0]);
}
