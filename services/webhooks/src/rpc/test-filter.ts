import { RmsError } from '@rms/base/errors';
import { toTenant } from '@rms/base/tenant';
import { conditionsOf } from '@rms/base/webhook-filter';
import { isRefusal, type Queryable } from '@rms/postgres/db';
import type { TestFilterRequest, WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { readFeedEvent } from '../event/feed-queries.ts';
import { filterQuery, parseFilter, valueIn } from '../webhook/filter.ts';
import { found, type HandlerParts } from './parts.ts';

/** Evaluates a filter and each of its conditions for an event, exactly as fan-out does. Without a filter, all match. */
export function testFilter({ pool }: HandlerParts): Handlers<typeof WebhooksService>['testFilter'] {
  return async (request) => {
    const { filter, violations } = parseFilter(request.filter);
    const isGiven = request.event.length > 0;
    const details = [
      ...violations,
      ...(isGiven === (request.eventId !== '')
        ? [
            {
              field: 'event',
              message: isGiven ? 'must not be given with event_id' : 'must be given, or event_id instead',
            },
          ]
        : []),
    ];
    if (details.length > 0) throw new RmsError('invalid_request', { details });
    const body = isGiven ? Buffer.from(request.event) : await bodyOf(pool, request);
    if (!filter) return { matches: true, conditions: [] };
    const conditions = conditionsOf(filter);
    const [matches = false, ...holds] = await evaluate(pool, body, [filter, ...conditions].map(filterQuery));
    const event: unknown = JSON.parse(body.toString('utf8'));
    return {
      matches,
      conditions: conditions.map((condition, i) => {
        const value = valueIn(event, condition.field);
        const result = { condition: JSON.stringify(condition), holds: holds[i] ?? false };
        return value === undefined ? result : { ...result, value };
      }),
    };
  };
}

async function bodyOf(db: Queryable, request: TestFilterRequest): Promise<Buffer> {
  const { eventId: id, withOperational } = request;
  const event = found(await readFeedEvent(db, toTenant(request), { id, withOperational }), 'event', id);
  if (event.body.length === 0) throw new RmsError('conflict', { message: 'The event has no body anymore.' });
  return Buffer.from(event.body);
}

async function evaluate(db: Queryable, body: Buffer, queries: readonly string[]): Promise<boolean[]> {
  try {
    const { rows } = await db.query<{ matches: boolean }>(
      `select event.terms @@ query::tsquery as matches
         from (select webhooks.filter_terms($1) as terms offset 0) as event
        cross join unnest($2::text[]) with ordinality as q (query, ordinal)
        order by ordinal`,
      [body, queries],
    );
    return rows.map(({ matches }) => matches);
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    const message = 'must be an event as JSON, without NUL and unpaired surrogates';
    throw new RmsError('invalid_request', { details: [{ field: 'event', message }], cause });
  }
}
