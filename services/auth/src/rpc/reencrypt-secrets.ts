import type { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { operatorsOnly } from '../member/acting.ts';
import { reencryptBatch } from '../sealed/reencrypt.ts';
import { countByKey } from '../sealed/sealed-queries.ts';
import { sealedStores } from '../sealed/sealed-stores.ts';
import { type HandlerParts, invalid, translated } from './handler.ts';

/** One batch of a walk through all that is sealed. Its place is in the token: "store/id after which it goes on". */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return ({ pageToken }, context) =>
    translated(async () => {
      operatorsOnly(context);
      const [, index = '', after = ''] = /^(\d)\/(\w*)$/.exec(pageToken || '0/') ?? [];
      const at = Number(index);
      const store = index === '' ? undefined : sealedStores[at];
      if (!store) throw invalid('page_token', 'is not of this walk');
      const { resealed, unreadable, next } = await reencryptBatch(pool, box, store, after);
      if (resealed + unreadable.length > 0) {
        log.info({ store: store.table, resealed, unreadable: unreadable.length }, 'sealed anew with the current key');
      }
      const isLast = next === undefined && at + 1 === sealedStores.length;
      const sealed = isLast ? await countByKey(pool, sealedStores) : [];
      return {
        resealed,
        unreadable: unreadable.length,
        unreadableUserIds: store.table === 'users' ? [...unreadable] : [],
        nextPageToken: isLast ? '' : next === undefined ? `${at + 1}/` : `${at}/${next}`,
        sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count: BigInt(count) })),
      };
    });
}
