import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import { makePageToken, pageBytes, readPageToken } from '@rms/postgres/db';
import type { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import type { Handlers } from '@rms/rpc';
import { listLetters, type StoredLetter } from '../event/dead-letter-queries.ts';
import { checkPageSize, type HandlerParts, longPage } from './parts.ts';

/** Returns a page of dead letters, oldest first. */
export function listDeadLetters({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof DeadLettersService>['listDeadLetters'] {
  return async ({ workspaceId, pageSize, pageToken }) => {
    checkPageSize(pageSize, longPage);
    const binding = ['dead letters', workspaceId].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const { letters, hasMore } = await listLetters(pool, {
      workspaceId: workspaceId || undefined,
      after: start?.keys[0] ?? '0',
      limit: pageSize,
      bytes: pageBytes,
    });
    const last = letters.at(-1);
    const page = (start?.page ?? 1) + 1;
    return {
      deadLetters: letters.map(toMessage),
      nextPageToken:
        hasMore && last ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [last.id], page }) : '',
    };
  };
}

function toMessage({ id, tenant, topic, record, parked, reason, error, storedAt }: StoredLetter) {
  const { partition, offset, key, value, headers } = record;
  return {
    id: BigInt(id),
    workspaceId: tenant.workspaceId,
    ...(tenant.environment === '' ? {} : { environment: toEnvironmentMessage(tenant.environment) }),
    topic,
    partition,
    offset: BigInt(offset),
    key,
    value,
    headers,
    parked,
    reason,
    error,
    storeTime: timestampFromDate(storedAt),
  };
}
