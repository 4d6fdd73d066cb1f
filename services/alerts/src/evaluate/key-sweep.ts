import { timestampDate } from '@bufbuild/protobuf/wkt';
import { inTransaction, type Pool } from '@rms/db';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcClient } from '@rms/rpc';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { replaceExpiring } from './key-queries.ts';

export interface KeySweepParts {
  readonly pool: Pool;
  readonly keys: Pick<RpcClient<typeof KeysService>, 'listKeys'>;
  readonly workspaces: Pick<RpcClient<typeof WorkspacesService>, 'listWorkspaces'>;
  readonly log: Logger;
  readonly everyMs: number;
}

/** The longest time before the end of a key at which a rule may alert. */
const horizonMs = 90 * 24 * 3_600_000;
const againMs = 30_000;

/** Asks auth now and then which keys expire; rules look at what it has told. */
export function createKeySweep({ pool, keys, workspaces, log, everyMs }: KeySweepParts): Worker {
  const sweep = async (signal: AbortSignal) => {
    const { workspaces: all } = await workspaces.listWorkspaces({}, { signal });
    for (const { id: workspaceId } of all) {
      if (signal.aborted) return;
      const { keys: ofWorkspace } = await keys.listKeys({ workspaceId }, { signal });
      const expiring = ofWorkspace.flatMap(expiringSoon);
      await inTransaction(pool, (tx) => replaceExpiring(tx, workspaceId, expiring));
    }
  };
  return {
    name: 'keys',
    async run(signal) {
      while (!signal.aborted) {
        try {
          await sweep(signal);
          await abortableDelay(everyMs, signal);
        } catch (err) {
          if (!signal.aborted) log.warn({ err }, 'auth could not be asked for keys that expire');
          await abortableDelay(Math.min(againMs, everyMs), signal);
        }
      }
    },
  };
}

function expiringSoon({ id, name, environment, expireTime, revokeTime, rollTime }: Key) {
  if (!expireTime || revokeTime || rollTime) return [];
  const expiresAt = timestampDate(expireTime);
  if (expiresAt.getTime() > Date.now() + horizonMs) return [];
  return [{ keyId: id, name, expiresAt, environment: environment === Environment.LIVE ? 'live' : 'sandbox' } as const];
}
