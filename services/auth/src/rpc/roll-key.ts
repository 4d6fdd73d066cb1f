import { actorOf, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { judgeKey, makeKey } from '../key/key.ts';
import { keyCreated, keyRolled } from '../key/key-audit.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { insertKey, lockKey, setRolled } from '../key/key-queries.ts';
import { insertPendingMarks } from '../key/mark-queries.ts';
import { markOf } from '../key/revoke.ts';
import { found, type HandlerParts, translated } from './handler.ts';

const longestOverlapSeconds = 90 * 24 * 60 * 60;

/** Answers once every gateway knows when the old key ends. */
export function rollKey({ pool, marks, log }: HandlerParts): Handlers<typeof KeysService>['rollKey'] {
  return ({ workspaceId, id, overlap }, context) =>
    translated(async () => {
      const overlapSeconds = overlap ? Number(overlap.seconds) + overlap.nanos / 1e9 : 0;
      if (overlapSeconds < 0 || overlapSeconds > longestOverlapSeconds) {
        throw new RmsError('invalid_request', { details: [{ field: 'overlap', message: 'must be 0 to 90 days' }] });
      }
      const { made, rolled } = await inTransaction(pool, async (tx) => {
        const old = found(await lockKey(tx, workspaceId, id), 'key', id);
        if (old.rolledAt || judgeKey(old, old.environment, new Date()) !== 'valid') {
          throw new RmsError('conflict', { message: 'The key is revoked, rolled or expired already.' });
        }
        const made = makeKey({ ...old, createdBy: actorOf(context) });
        await insertKey(tx, made.key);
        const rolled = await setRolled(tx, old, overlapSeconds, made.key.id);
        await insertPendingMarks(tx, [markOf(rolled)]);
        await appendAudit(tx, context, [keyRolled(rolled), keyCreated(made.key)]);
        return { made, rolled };
      });
      await marks.hold([markOf(rolled)]);
      log.info(
        { workspace_id: workspaceId, key_id: id, new_key_id: made.key.id, overlap_seconds: overlapSeconds },
        'key rolled',
      );
      return { key: toKeyMessage(made.key), keyValue: made.value, oldKey: toKeyMessage(rolled) };
    });
}
