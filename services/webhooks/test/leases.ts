import type { Pool } from '@rms/db';
import { newId } from '@rms/ids';
import { failDeliveries } from '../src/delivery/end-queries.ts';
import type { Openings } from '../src/delivery/endpoint-queue.ts';
import type { AttemptResult, DeliveryJob, DeliveryRef } from '../src/delivery/job.ts';
import { type LeaseOptions, leaseDue, leaseThese } from '../src/delivery/lease-queries.ts';
import type { Recording } from '../src/delivery/record-queries.ts';
import { defaultRetryPolicy } from '../src/delivery/retry-policy.ts';
import { settle } from '../src/delivery/settle.ts';
import type { Arrival } from '../src/fan-out/arrival.ts';
import { fanOut } from '../src/fan-out/fan-out-queries.ts';
import { readDeliveries } from '../src/log/log-queries.ts';
import { insertWebhook } from '../src/subscription/webhook-queries.ts';
import type { newEvent, Tenant } from './support.ts';

/** As it comes by the bus. */
function arrivalOf(event: ReturnType<typeof newEvent>): Arrival {
  return { event, record: { partition: 0, offset: '0', key: event.resourceId, headers: {} } };
}

/** What an instance does to the tables, one step at a time. */
export function stepsOn(pool: Pool) {
  const scopeOf = ({ workspaceId }: Tenant) => ({ workspaceId, environments: ['live'] as const });
  const lease = async (options: Partial<LeaseOptions>) => {
    const leased = await leaseDue(pool, { limit: 10, after: '', places: new Map(), fullWorkspaces: [], ...options });
    if (leased.lost.length > 0) await failDeliveries(pool, leased.lost);
    return leased;
  };
  const stored = (events: readonly ReturnType<typeof newEvent>[], openings: Openings) =>
    fanOut(pool, events.map(arrivalOf), openings);
  return {
    scopeOf,
    async subscribe({ workspaceId }: Tenant, { ordered = false } = {}): Promise<string> {
      const id = newId('wh');
      await insertWebhook(pool, {
        workspaceId,
        environment: 'live',
        id,
        url: 'https://example.com/',
        events: ['*'],
        status: 'active',
        disableReason: undefined,
        secretSealed: Buffer.alloc(1),
        secretVersion: 1,
        previousSecretSealed: undefined,
        previousSecretUntil: undefined,
        clientCertificate: undefined,
        clientKeySealed: undefined,
        ordered,
        retryPolicy: defaultRetryPolicy,
        createdAt: new Date(),
        updatedAt: new Date(),
      });
      return id;
    },
    fanOut: stored,
    /** Stores events; leases up to `room` of their deliveries. */
    store: async (events: readonly ReturnType<typeof newEvent>[], room = 0) =>
      (await stored(events, { room, ofWebhooks: new Map(), ofOthers: room })).jobs,
    lease,
    /** Leases what is due. */
    claim: async (limit = 10, options: Partial<LeaseOptions> = {}) => (await lease({ limit, ...options })).jobs,
    leaseThese: async (deliveries: readonly DeliveryRef[]) => (await leaseThese(pool, deliveries)).jobs,
    /** As time does. */
    endLeases: () =>
      pool.query("update webhooks.deliveries set due_at = now() - interval '1 second' where due_at is not null"),
    logged: async (tenant: Tenant, filter = {}) =>
      (await readDeliveries(pool, scopeOf(tenant), filter, 100)).deliveries,
  };
}

export type Steps = ReturnType<typeof stepsOn>;

/** An attempt of a job that was answered like that. */
export function answered(job: DeliveryJob | undefined, statusCode: number): Recording {
  if (!job) throw new Error('nothing was leased');
  const result: AttemptResult = {
    startedAt: new Date(),
    statusCode,
    error: statusCode === 200 ? '' : `status: ${statusCode}`,
    durationMs: 1,
    timings: { dns: 0, connect: 0, tls: 0, firstByte: 1 },
    address: '192.0.2.1',
    requestHeaders: [],
    responseHeaders: [],
    responseBody: Buffer.from([0, 255]),
    retryAfterMs: undefined,
  };
  return { job, result, settlement: settle(job, result) };
}
