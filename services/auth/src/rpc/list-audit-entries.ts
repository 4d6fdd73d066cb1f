import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { isId } from '@rms/base/ids';
import { toEnvironmentMessage, toEnvironments } from '@rms/base/tenant';
import { type AuditEntry, lastAuditRead, listAudit } from '@rms/postgres/audit';
import { cutPage, firstWithin, inTransaction, readFullPage, readPageToken, tokensOf } from '@rms/postgres/db';
import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { mayReadUserEntries } from '../key/granting-key.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

const maxTargets = 1_000;

/**
 * Returns a page of audit entries. A page can be short or empty if few entries match the filter, because the number of
 * entries that it reads is bounded. The next page continues after the last entry that was read. To API keys that a user
 * without the permission `audit:read` created, it returns only entries of their environment.
 */
export function listAuditEntries({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof AuditService>['listAuditEntries'] {
  return async (request, context) => {
    const { workspaceId, targetId, targetIds, action, actor, sinceTime, untilTime, pageSize, pageToken } = request;
    const { requestId } = request;
    const details = [];
    if (pageSize < 1 || pageSize > maxPageSize) {
      details.push({ field: 'page_size', message: `must be 1 to ${maxPageSize}` });
    }
    if (targetIds.length > maxTargets) {
      details.push({ field: 'target_ids', message: `must have at most ${maxTargets} entries` });
    }
    if (details.length > 0) throw new RmsError('invalid_request', { details });
    // The entries of such a request have no bounds.
    if (requestId !== '' && !isId('req', requestId)) return { page: 1, pageSize };
    const since = sinceTime && timestampDate(sinceTime);
    const until = untilTime && timestampDate(untilTime);
    const [environment, ...others] = toEnvironments(request.environment);
    const match = {
      workspaceId,
      environment: others.length > 0 ? undefined : environment,
      targetId,
      targetIds,
      action,
      actor,
      requestId,
      since,
      until,
      ownEnvironmentOnly: !(await mayReadUserEntries(pool, context)),
    };
    const binding = JSON.stringify(['audit', ...Object.values(match).map((value) => value ?? null)]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    // One snapshot, so that entries appended between the queries do not shift the last entry read.
    return inTransaction(pool, async (tx) => {
      await tx.query('set transaction isolation level repeatable read, read only');
      const { rows, scanEnd } = await readFullPage(start, pageSize + 1, async (from, limit) => {
        const filter = { ...match, start: from, limit };
        const entries = await listAudit(tx, filter);
        const last = entries.length === limit ? undefined : await lastAuditRead(tx, filter);
        return { rows: entries, scanEnd: last === undefined ? undefined : [last] };
      });
      const messages = rows.map(toEntryMessage);
      const cut = cutPage(...firstWithin(messages, pageSize, start, bytesOf), start, scanEnd);
      return {
        entries: [...cut.items],
        ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
        page: cut.page,
        pageSize,
      };
    });
  };
}

/** Upper bound for the size of the other parts of an entry's JSON: IDs, the time and field names. */
const otherBytes = 1_000;

/** Returns the size of an entry as JSON, at most. */
function bytesOf({ actorName, targetName, changesJson, detailsJson }: ReturnType<typeof toEntryMessage>): number {
  return Buffer.byteLength(JSON.stringify([actorName, targetName]) + changesJson + detailsJson) + otherBytes;
}

function toEntryMessage(entry: AuditEntry) {
  const { id, workspaceId, actor, actorName, address, requestId, action, targetId, targetName } = entry;
  return {
    id,
    workspaceId,
    actor,
    actorName,
    address,
    requestId,
    action,
    targetId,
    targetName,
    time: timestampFromDate(entry.createdAt),
    environment: entry.environment ? toEnvironmentMessage(entry.environment) : Environment.UNSPECIFIED,
    changesJson: JSON.stringify(entry.changes),
    detailsJson: JSON.stringify(entry.details),
  };
}
