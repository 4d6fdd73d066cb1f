import { RmsError } from '@rms/base/errors';
import type { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Pool, Queue } from '../db/index.ts';
import { deleteEvents, type OperationalSchema, readEvents } from './operational-event-queries.ts';

const most = 500;
/** Well below the caller's timeout. */
const waitMs = 10_000;

/** Returns the handlers that let the webhooks service fetch the queued events of another service. */
export function listingHandlers(
  pool: Pool,
  schema: OperationalSchema,
  queue: Pick<Queue, 'untilRows'>,
): Handlers<typeof OperationalEventsService> {
  return {
    async listOperationalEvents({ limit }, { stopping }) {
      if (limit < 1 || limit > most) throw invalid('limit', `must be 1 to ${most}`);
      if (!(await queue.untilRows(waitMs, stopping))) return { events: [] };
      return { events: await readEvents(pool, schema, limit) };
    },
    async deleteOperationalEvents({ events }) {
      if (events.length > most) throw invalid('events', `must have at most ${most} items`);
      await deleteEvents(pool, schema, events);
      return {};
    },
  };
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
