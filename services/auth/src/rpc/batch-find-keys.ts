import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { readCreatorNames } from '../key/creator-queries.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { findKeysByHash } from '../key/key-queries.ts';
import { readUses } from '../key/use-queries.ts';
import { checkBatchSize, type HandlerParts } from './handler.ts';

const batchLimit = 1_000;

export function batchFindKeys({ pool }: HandlerParts): Handlers<typeof KeysService>['batchFindKeys'] {
  return async ({ keyHashes }) => {
    checkBatchSize(keyHashes, batchLimit);
    const found = await findKeysByHash(pool, keyHashes);
    const byHash = new Map(found.map((one) => [one.key.hash.toString('hex'), one]));
    const keys = found.map(({ key }) => key);
    const [uses, names] = await Promise.all([readUses(pool, keys), readCreatorNames(pool, keys)]);
    return {
      results: keyHashes.map((hash) => {
        const one = byHash.get(Buffer.from(hash).toString('hex'));
        if (!one) return {};
        const { key, workspaceName } = one;
        return { key: toKeyMessage(key, uses.get(key.id), names.get(key.createdBy)), workspaceName };
      }),
    };
  };
}
