import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type AuditEntry, listAudit } from '@rms/audit';
import { RmsError } from '@rms/errors';
import { isId } from '@rms/ids';
import type { AuditService } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { toEnvironmentMessage } from '../key/key-message.ts';
import { type HandlerParts, translated } from './handler.ts';

const largestPage = 1_000;

/** The page token is the id of the last entry: whoever may list may see all of them. */
export function listAuditEntries({ pool }: HandlerParts): Handlers<typeof AuditService>['listAuditEntries'] {
  return ({ workspaceId, targetId, action, sinceTime, pageSize, pageToken }) =>
    translated(async () => {
      const details = [];
      if (pageSize < 1 || pageSize > largestPage) {
        details.push({ field: 'page_size', message: `must be 1 to ${largestPage}` });
      }
      if (pageToken !== '' && !isId('aud', pageToken)) {
        details.push({ field: 'page_token', message: 'is not of this list' });
      }
      if (details.length > 0) throw new RmsError('invalid_request', { details });
      const rows = await listAudit(pool, {
        workspaceId,
        targetId,
        action,
        since: sinceTime && timestampDate(sinceTime),
        before: pageToken || undefined,
        limit: pageSize + 1,
      });
      const entries = rows.slice(0, pageSize);
      return {
        entries: entries.map(toEntryMessage),
        nextPageToken: rows.length > pageSize ? (entries.at(-1)?.id ?? '') : '',
      };
    });
}

function toEntryMessage(entry: AuditEntry) {
  const { id, workspaceId, actor, address, requestId, action, targetId } = entry;
  return {
    id,
    workspaceId,
    actor,
    address,
    requestId,
    action,
    targetId,
    time: timestampFromDate(entry.createdAt),
    environment: entry.environment ? toEnvironmentMessage(entry.environment) : Environment.UNSPECIFIED,
    detailsJson: JSON.stringify(entry.details),
  };
}
