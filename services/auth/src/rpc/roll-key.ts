import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { judgeKey, makeKey } from '../key/key.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { insertKey, lockKey, setRolled } from '../key/key-queries.ts';
import { type HandlerContext, translated } from './handler.ts';
import { markEverywhere } from './mark-everywhere.ts';

/** Past this no gateway relies on a verdict of before the roll any more. */
const cachedVerdictSeconds = 60;
const longestOverlapSeconds = 90 * 24 * 60 * 60;
const markFailure = 'The gateways cannot be told that the old key ends, so nothing has changed. Try again.';

export function rollKey({ pool, limiter, log }: HandlerContext): Handlers<typeof KeysService>['rollKey'] {
  return ({ workspaceId, id, overlap }) =>
    translated(async () => {
      const overlapSeconds = overlap ? Number(overlap.seconds) + overlap.nanos / 1e9 : 0;
      if (overlapSeconds < 0 || overlapSeconds > longestOverlapSeconds) {
        throw new RmsError('invalid_request', { details: [{ field: 'overlap', message: 'must be 0 to 90 days' }] });
      }
      const { made, rolled } = await inTransaction(pool, async (tx) => {
        const old = await lockKey(tx, workspaceId, id);
        if (!old) throw new RmsError('not_found', { message: `There is no key "${id}".` });
        if (old.rolledAt || judgeKey(old, old.environment, new Date()) !== 'valid') {
          throw new RmsError('conflict', { message: 'The key is revoked, rolled or expired already.' });
        }
        const made = makeKey(old);
        await insertKey(tx, made.key);
        const rolled = await setRolled(tx, old, overlapSeconds, made.key.id);
        // Before the commit: the new value is shown this once, so a roll that cannot be completed must not have happened.
        // A mark whose roll is undone only makes gateways ask about a key that is valid. Within a long overlap cached
        // verdicts run out by themselves, and the next one brings the end of the overlap.
        if (overlapSeconds < cachedVerdictSeconds) await markEverywhere(limiter, old, markFailure);
        return { made, rolled };
      });
      log.info(
        { workspace_id: workspaceId, key_id: id, new_key_id: made.key.id, overlap_seconds: overlapSeconds },
        'key rolled',
      );
      return { key: toKeyMessage(made.key), keyValue: made.value, oldKey: toKeyMessage(rolled) };
    });
}
