import { toEnvironments } from '@rms/base/tenant';
import { cutPage, inTransaction, readPageToken, tokensOf } from '@rms/postgres/db';
import { type KeysService, KeyStatus as StatusMessage } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { type EnumNames, enumNames, type Handlers } from '@rms/rpc';
import type { KeyStatus } from '../key/key.ts';
import { readActivity, toKeyMessage } from '../key/key-message.ts';
import { listKeysOf } from '../key/key-queries.ts';
import { invalid } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

const maxPageSize = 1_000;
const maxNamePart = 100;
const statuses: EnumNames<KeyStatus, StatusMessage> = enumNames(StatusMessage);

export function listKeys({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof KeysService>['listKeys'] {
  return async (request) => {
    const { workspaceId, pageToken, validOnly, ownLimitOnly, namePart, createdBy } = request;
    if (request.pageSize < 0 || request.pageSize > maxPageSize) {
      throw invalid('page_size', `must be 0 to ${maxPageSize}`);
    }
    if (namePart.length > maxNamePart) throw invalid('name', `must have at most ${maxNamePart} characters`);
    const pageSize = request.pageSize || maxPageSize;
    const environments = toEnvironments(request.environment);
    const status = statuses.toName(request.status);
    const filter = [validOnly, ownLimitOnly, status ?? '', namePart, createdBy];
    const binding = JSON.stringify(['keys', workspaceId, environments, ...filter]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const limit = pageSize + 1;
    const page = { workspaceId, environments, start, validOnly, ownLimitOnly, status, namePart, createdBy, limit };
    // One snapshot, so that keys created between the queries do not shift the last key that was read.
    return inTransaction(pool, async (tx) => {
      await tx.query('set transaction isolation level repeatable read, read only');
      const { keys, lastRead } = await listKeysOf(tx, page);
      const cut = cutPage(keys, pageSize, start, lastRead === undefined ? undefined : [lastRead]);
      const activityOf = await readActivity(tx, cut.items);
      return {
        keys: cut.items.map((key) => toKeyMessage(key, activityOf(key))),
        ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
        page: cut.page,
        pageSize,
      };
    });
  };
}
