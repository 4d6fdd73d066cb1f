import { newId } from '@rms/base/ids';
import type { Pool } from '@rms/postgres/db';
import type { LogFilter } from '../src/delivery/log-filter.ts';
import { readDeliveries } from '../src/delivery/log-queries.ts';
import type { AttemptResult, DeliveryJob } from '../src/engine/attempt/job.ts';
import { settle } from '../src/engine/attempt.ts';
import { leaseFor } from '../src/engine/lease/lease-queries.ts';
import { readDue } from '../src/engine/lease/schedule-queries.ts';
import { failDeliveries } from '../src/engine/record/end-queries.ts';
import { failAbandoned } from '../src/engine/record/endings.ts';
import type { Recording } from '../src/engine/record/recorder.ts';
import type { Capacity } from '../src/engine/schedule/scheduler.ts';
import type { Arrival } from '../src/event/decode.ts';
import { fanOut } from '../src/event/fan-out-queries.ts';
import { insertWebhook } from '../src/rpc/create-webhook.ts';
import { noHeaders } from '../src/webhook/custom-headers.ts';
import { defaultRetryPolicy } from '../src/webhook/retry-policy.ts';
import { defaultRateLimit } from '../src/webhook/webhook.ts';
import { type newEvent, type Tenant, toRecord } from './support.ts';

/** The only running instance's part. */
export const alone = { rank: 0, count: 1 };

/** The capacity of an instance without attempts in flight. */
export const unknown = {
  ofWorkspaces: new Map<string, number>(),
  ofOtherWorkspaces: 100,
  ofWebhooks: new Map<string, number>(),
  part: alone,
};

/** Wraps an event in a bus record. */
export function arrivalOf(event: ReturnType<typeof newEvent>): Arrival {
  return { event, record: { ...toRecord(event), partition: 0, offset: '0' } };
}

/** Operations of an instance on the tables, one step at a time. */
export function stepsOn(pool: Pool) {
  const scopeOf = ({ workspaceId }: Tenant) => ({ workspaceId, environments: ['live'] as const });
  /** Leases up to `attempts` due deliveries of every due webhook. */
  const lease = async ({ attempts = 10, isKnown = true } = {}) => {
    const { webhooks } = await readDue(pool, { webhookIds: [], workspaceIds: [] }, 100);
    const refills = webhooks.map(({ webhookId }) => ({ webhookId, deliveries: attempts, attempts, isKnown }));
    const leased = await leaseFor(pool, refills, alone);
    if (leased.lost.length > 0) await failDeliveries(pool, leased.lost, 'event_erased');
    for (const webhook of leased.abandoned) await failAbandoned(pool, webhook, new AbortController().signal);
    return leased;
  };
  const stored = (events: readonly ReturnType<typeof newEvent>[], freeCapacity: Capacity) =>
    fanOut(pool, events.map(arrivalOf), { freeCapacity });
  /** Deletes the webhooks of all tenants, and their queue. */
  const clear = () =>
    pool.query('truncate webhooks.webhooks, webhooks.attempt_counts, webhooks.deliveries, webhooks.endpoints');
  return {
    clear,
    scopeOf,
    async subscribe({ workspaceId }: Tenant, { ordered = false, events = ['*'] } = {}): Promise<string> {
      const id = newId('wh');
      await insertWebhook(pool, {
        workspaceId,
        environment: 'live',
        id,
        url: 'https://example.com/',
        events,
        status: 'active',
        disableReason: undefined,
        pausedAt: undefined,
        secretSealed: Buffer.alloc(1),
        secretVersion: 1,
        previousSecretSealed: undefined,
        previousSecretUntil: undefined,
        clientCertificate: undefined,
        clientKeySealed: undefined,
        ordered,
        description: '',
        retryPolicy: defaultRetryPolicy,
        rateLimit: defaultRateLimit,
        ...noHeaders,
        filter: undefined,
        timeoutMs: 10_000,
        createdAt: new Date(),
        updatedAt: new Date(),
      });
      return id;
    },
    fanOut: stored,
    /** Stores events and leases up to `total` of their deliveries. */
    store: async (events: readonly ReturnType<typeof newEvent>[], total = 0) =>
      (await stored(events, { ...unknown, total })).jobs,
    lease,
    /** Leases due deliveries. */
    claim: async (attempts = 10) => (await lease({ attempts })).jobs,
    /** Returns the time until a webhook is due, in milliseconds; null if it is not scheduled. */
    async dueInMs(webhookId: string): Promise<number | null> {
      const { rows } = await pool.query<{ ms: number | null }>(
        `select (extract(epoch from next_due_at - now()) * 1000)::float8 as ms
           from webhooks.endpoints where webhook_id = $1`,
        [webhookId],
      );
      return rows[0]?.ms ?? null;
    },
    /** Makes all leases expire. */
    endLeases: () =>
      pool.query("update webhooks.deliveries set due_at = now() - interval '1 second' where due_at is not null"),
    logged: async (tenant: Tenant, filter: LogFilter = {}) =>
      (await readDeliveries(pool, { scope: scopeOf(tenant), filter, limit: 100, attempts: 'all' })).deliveries,
  };
}

export type Steps = ReturnType<typeof stepsOn>;

/** Returns a job's attempt with a response with the given status. */
export function responded(job: DeliveryJob | undefined, statusCode: number): Recording {
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
