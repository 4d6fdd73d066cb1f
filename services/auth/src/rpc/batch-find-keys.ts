import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { readActivity, toKeyMessage } from '../key/key-message.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

const batchLimit = 1_000;

export function batchFindKeys({ pool }: HandlerParts): Handlers<typeof KeysService>['batchFindKeys'] {
  return async ({ keyHashes }) => {
    checkBatchSize(keyHashes, batchLimit);
    const found = await findKeysByHash(pool, keyHashes);
    const byHash = new Map(found.map((one) => [one.key.hash.toString('hex'), one]));
    const activityOf = await readActivity(
      pool,
      found.map(({ key }) => key),
    );
    return {
      results: keyHashes.map((hash) => {
        const one = byHash.get(Buffer.from(hash).toString('hex'));
        if (!one) return {};
        return { key: toKeyMessage(one.key, activityOf(one.key)), workspaceName: one.workspaceName };
      }),
    };
  };
}
