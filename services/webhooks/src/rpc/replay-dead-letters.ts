import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, makePageToken, type Queryable, readPageToken } from '@rms/postgres/db';
import type { DeadLettersService, ReplayDeadLettersRequest } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import type { Handlers } from '@rms/rpc';
import type { LetterSelection } from '../event/dead-letter-queries.ts';
import type { HandlerParts } from './parts.ts';

const lettersPerCall = 1_000;

/** Parks dead letters, so that they are tried again. */
export function replayDeadLetters({
  pool,
  pageTokenKeys,
  queues,
}: HandlerParts): Handlers<typeof DeadLettersService>['replayDeadLetters'] {
  return async (request, context) => {
    const selection = toSelection(request);
    const binding = ['replay dead letters', JSON.stringify(selection)].join('\n');
    const start = readPageToken(pageTokenKeys, binding, request.pageToken);
    const { parked, last } = await inTransaction(pool, async (tx) => {
      const step = await parkLetters(tx, selection, { after: start?.keys[0] ?? '0', limit: lettersPerCall });
      if (step.parked > 0) {
        const workspaceId = 'workspaceId' in selection ? selection.workspaceId : '';
        const details = { count: step.parked, ...('ids' in selection ? { ids: selection.ids } : {}) };
        const target = { id: '', name: 'dead letters' };
        await appendAudit(tx, context, [{ workspaceId, target, action: 'dead_letters.replayed', details }]);
      }
      return step;
    });
    if (parked > 0) queues.parked.wake();
    const page = (start?.page ?? 1) + 1;
    return {
      parked,
      nextPageToken:
        last === undefined ? '' : makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [last], page }),
    };
  };
}

function toSelection({ selection }: ReplayDeadLettersRequest): LetterSelection {
  switch (selection.case) {
    case 'ids': {
      const { ids } = selection.value;
      if (ids.length === 0 || ids.length > lettersPerCall) throw invalid('ids', `must be 1 to ${lettersPerCall} IDs`);
      return { ids: ids.map(String) };
    }
    case 'workspaceId':
      if (selection.value === '') throw invalid('workspace_id', 'must be a workspace ID');
      return { workspaceId: selection.value };
    case 'all':
      if (!selection.value) throw invalid('all', 'must be true');
      return { all: true };
    default:
      throw invalid('selection', 'must be set');
  }
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}

/**
 * Parks up to `limit` dead letters with IDs after `after`. Returns how many were parked, and the last ID that was read;
 * undefined if there are no others.
 */
async function parkLetters(
  tx: Queryable,
  selection: LetterSelection,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<{ parked: number; last: string | undefined }> {
  const [page, value] =
    'ids' in selection
      ? [
          'select id from webhooks.dead_letters where id = any($3::bigint[]) and id > $1 order by id limit $2',
          selection.ids,
        ]
      : 'workspaceId' in selection
        ? [
            `select l.id from unnest(array['live', 'sandbox']) as e (environment)
              cross join lateral (select id from webhooks.dead_letters as l
                                   where l.workspace_id = $3 and l.environment = e.environment and l.id > $1
                                   order by l.id limit $2) as l
              order by l.id limit $2`,
            selection.workspaceId,
          ]
        : ['select id from webhooks.dead_letters where id > $1 order by id limit $2', undefined];
  const { rows } = await tx.query<{ parked: number; total: number; last: string | null }>(
    `with page as (${page}), parked as (
       update webhooks.dead_letters as l set parked = true
        where l.id = any(array(select id from page)) and not l.parked returning l.id
     )
     select (select count(*) from parked)::integer as parked, count(*)::integer as total, max(id) as last from page`,
    [after, limit, ...(value === undefined ? [] : [value])],
  );
  const { parked = 0, total = 0, last = null } = rows[0] ?? {};
  return { parked, last: total === limit && last !== null ? last : undefined };
}
