import { abortableDelay } from '@rms/async';
import { idTime } from '@rms/base/ids';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { DatabaseTime, Pool } from '@rms/postgres/db';
import { deleteEvents, readEvents } from '@rms/postgres/operational-events';
import type { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { problemOf } from './decode.ts';
import type { createEventStore } from './event-store.ts';
import { logPartitions } from './partitions.ts';

/** The client of a service with operational events. */
export type OperationalEventsClient = Pick<
  RpcClient<typeof OperationalEventsService>,
  'listOperationalEvents' | 'deleteOperationalEvents' | 'close'
>;

/** Queued operational events of a service. */
interface Source {
  list(limit: number, signal: AbortSignal): Promise<readonly ResourceEvent[]>;
  /** Deletes events that are stored. */
  remove(events: readonly ResourceEvent[]): Promise<void>;
}

export interface OperationalEventsParts {
  readonly pool: Pool;
  readonly store: ReturnType<typeof createEventStore>;
  readonly time: DatabaseTime;
  readonly retentionDays: number;
  readonly log: Logger;
}

const batch = 500;
const everyMs = 1_000;
const maxDelayMs = 30_000;

/** Returns the events that this service has queued. */
export function ownEvents(pool: Pool): Source {
  return {
    list: (limit) => readEvents(pool, 'webhooks', limit),
    remove: (events) => deleteEvents(pool, 'webhooks', events),
  };
}

/** Returns the events that another service has queued. */
export function eventsOf(client: OperationalEventsClient): Source {
  return {
    list: async (limit, signal) => (await client.listOperationalEvents({ limit }, { signal })).events,
    async remove(events) {
      const refs = events.map(({ workspaceId, environment, id }) => ({ workspaceId, environment, id }));
      await client.deleteOperationalEvents({ events: refs });
    },
  };
}

/**
 * Creates the worker that moves a service's operational events to the feeds of their tenants, like events of the bus.
 *
 *   queued in the service ──listed──► stored in the feed ──► deleted in the service
 *
 * If the process dies in between, the events are listed again, by this instance or another one: stored ones have no
 * effect. Events of a tenant that cannot be stored stay queued, and do not delay other tenants' events.
 * @param wait waits for further events after a listing that found none
 */
export function createOperationalEvents(
  name: string,
  source: Source,
  { pool, store, time, retentionDays, log }: OperationalEventsParts,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = abortableDelay,
): Worker {
  /** Drops an event that can never be stored. */
  const drop = ({ id, type, workspaceId, environment }: ResourceEvent, detail: string) => {
    const tenant = { workspace_id: workspaceId, environment: fromEnvironmentMessage(environment) };
    log.error({ event_id: id, event_type: type, ...tenant, detail }, 'operational event cannot be stored; dropped');
  };

  /** Moves some events. Returns whether there were any. Rejects if none of them could be stored. */
  const moveSome = async (signal: AbortSignal): Promise<boolean> => {
    const events = await source.list(batch, signal);
    if (events.length === 0) return false;
    const nowMs = await time.fresh();
    const storable = events.filter((event) => {
      // A later release may have types that this one does not know.
      const detail = event.type.startsWith('resource.')
        ? 'only the bus has events about resources'
        : problemOf(event, nowMs, retentionDays)?.detail;
      if (detail !== undefined) drop(event, detail);
      return detail === undefined;
    });
    await logPartitions.makeFor(
      pool,
      storable.map(({ id }) => idTime(id)),
      nowMs,
    );
    const { refused, parked, failed } = await store(storable.map((event) => ({ event, record: undefined })));
    for (const event of storable) if (refused.has(event.id)) drop(event, `${refused.get(event.id)}`);
    const moved = events.filter(({ id }) => !parked.has(id) && !failed.has(id));
    if (moved.length > 0) await source.remove(moved);
    else throw [...failed.values(), ...parked.values()][0];
    return true;
  };

  return {
    name,
    async run(signal) {
      let delayMs = everyMs;
      while (!signal.aborted) {
        const startedAtMs = performance.now();
        try {
          const hasMoved = await moveSome(signal);
          delayMs = everyMs;
          // A listing that has waited need not be delayed.
          if (!hasMoved && performance.now() - startedAtMs < everyMs) await wait(everyMs, signal);
        } catch (err) {
          if (signal.aborted) return;
          if (delayMs === everyMs) log.warn({ err, source: name }, 'operational events could not be stored; retrying');
          delayMs = Math.min(delayMs * 2, maxDelayMs);
          await abortableDelay(delayMs, signal);
        }
      }
    },
  };
}
