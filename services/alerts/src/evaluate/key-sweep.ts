import { timestampDate } from '@bufbuild/protobuf/wkt';
import { keyDocument } from '@rms/api/key/document';
import { abortableDelay } from '@rms/async';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import { type DatabaseTime, inTransaction, type Pool } from '@rms/postgres/db';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { replaceExpiring } from './key-queries.ts';

export interface KeySweepParts {
  readonly pool: Pool;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly keys: Pick<RpcClient<typeof KeysService>, 'listKeys'>;
  readonly workspaces: Pick<RpcClient<typeof WorkspacesService>, 'listWorkspaces'>;
  readonly log: Logger;
  readonly everyMs: number;
}

/** Reads the expiring keys of all workspaces periodically. */
export interface KeySweep extends Worker {
  /** Reads them once. Rejects if no workspace could be read. */
  sweep(signal: AbortSignal): Promise<void>;
}

/** The longest time before a key's expiry that a rule can alert at. */
const horizonMs = 90 * 24 * 3_600_000;
const retryMs = 30_000;
/** Keys or workspaces per call to auth. */
const pageSize = 500;
/** Maximum number of failed workspaces that a log line names. */
const maxLogged = 10;

/**
 * Creates the worker that periodically reads the expiring keys of all workspaces from auth and stores them for the
 * rules. A failing workspace does not block the others.
 */
export function createKeySweep({ pool, time, keys, workspaces, log, everyMs }: KeySweepParts): KeySweep {
  const sweepOne = async (workspaceId: string, signal: AbortSignal) => {
    const expiring: ReturnType<typeof expiringSoon> = [];
    let pageToken = '';
    do {
      const page = await keys.listKeys({ workspaceId, pageSize, pageToken, validOnly: true }, { signal });
      expiring.push(...page.keys.flatMap((key) => expiringSoon(key, time.nowMs())));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    await inTransaction(pool, (tx) => replaceExpiring(tx, workspaceId, expiring));
  };

  const sweep = async (signal: AbortSignal) => {
    const failed: { workspaceId: string; err: unknown }[] = [];
    let swept = 0;
    let pageToken = '';
    do {
      const page = await workspaces.listWorkspaces({ pageSize, pageToken }, { signal });
      for (const { id: workspaceId } of page.workspaces) {
        if (signal.aborted) return;
        swept += 1;
        try {
          await sweepOne(workspaceId, signal);
        } catch (err) {
          failed.push({ workspaceId, err });
        }
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    const [first] = failed;
    if (!first || signal.aborted) return;
    // If every workspace fails, the cause is not in a workspace. The caller then retries soon.
    if (failed.length === swept) throw first.err;
    const workspaceIds = failed.slice(0, maxLogged).map(({ workspaceId }) => workspaceId);
    log.warn(
      { err: first.err, workspaces: failed.length, workspace_ids: workspaceIds },
      'could not read the expiring keys of some workspaces',
    );
  };
  return {
    name: 'keys',
    sweep,
    async run(signal) {
      while (!signal.aborted) {
        try {
          await sweep(signal);
          await abortableDelay(everyMs, signal);
        } catch (err) {
          if (!signal.aborted) log.warn({ err }, 'could not read expiring keys from auth');
          await abortableDelay(Math.min(retryMs, everyMs), signal);
        }
      }
    },
  };
}

function expiringSoon(key: Key, nowMs: number) {
  const { id, name, environment, expireTime, revokeTime, rollTime, version } = key;
  if (!expireTime || revokeTime || rollTime) return [];
  const expiresAt = timestampDate(expireTime);
  if (expiresAt.getTime() > nowMs + horizonMs) return [];
  const document = { ...keyDocument(key), version: Number(version) };
  return [{ keyId: id, name, expiresAt, environment: fromEnvironmentMessage(environment), document }];
}
