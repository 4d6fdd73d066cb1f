import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { toKeyMessages } from '../key/key-message.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { checkBatchSize, type HandlerParts, maxKeysPerCall } from './handler.ts';

export function batchFindKeys({ pool }: HandlerParts): Handlers<typeof KeysService>['batchFindKeys'] {
  return async ({ keyHashes }) => {
    checkBatchSize(keyHashes, maxKeysPerCall);
    const found = await findKeysByHash(pool, keyHashes);
    const keys = await toKeyMessages(
      pool,
      found.map(({ key }) => key),
    );
    const byHash = new Map(
      found.map((one, i) => [one.key.hash.toString('hex'), { key: keys[i], workspaceName: one.workspaceName }]),
    );
    return { results: keyHashes.map((hash) => byHash.get(Buffer.from(hash).toString('hex')) ?? {}) };
  };
}
