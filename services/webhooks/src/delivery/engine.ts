import type { Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import type { Logger } from '@rms/service';
import type { Agent } from 'undici';
import { leaseDue, postpone, type Recording, recordAttempts, releaseLeases } from './delivery-queries.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { type DeliveryJob, leaseMs, startWithinMs } from './job.ts';
import type { SecretCache } from './secret-cache.ts';
import { send } from './send.ts';
import { settle } from './settle.ts';

export interface DeliveryParts {
  readonly pool: Pool;
  readonly agent: Agent;
  readonly secrets: SecretCache;
  readonly log: Logger;
  /** The endpoint answered 410. */
  readonly onGone: (job: DeliveryJob) => Promise<void>;
  readonly releaseLeases: boolean;
}

/** Attempts deliveries: fresh ones that fan-out hands over, and those that are due. */
export interface DeliveryEngine {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** How many more jobs can be taken right now. */
  room(): number;
  /** Takes freshly leased jobs. What finds no room is postponed. */
  deliver(jobs: readonly DeliveryJob[]): void;
  /** Looks for due deliveries now. */
  wake(): void;
}

const jobsLimit = 5_000;
const perEndpointInFlight = 32;
const perEndpointQueued = 500;
const claimBatch = 200;
const pollMs = 1_000;
const postponeMs = 2_000;

export function createDeliveryEngine(parts: DeliveryParts): DeliveryEngine {
  const { pool, agent, secrets, log, onGone } = parts;
  const queues = new EndpointQueues({ inFlight: perEndpointInFlight, queued: perEndpointQueued });
  const underWay = new Set<Promise<void>>();
  let wake = () => {};
  let stopping = false;
  /** When the next retry that this instance knows of is due. */
  let nextDueAtMs = Number.POSITIVE_INFINITY;

  const record = coalesce(
    async (recordings: Recording[]) => {
      await recordAttempts(pool, recordings);
      return recordings.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  const attempt = async (job: DeliveryJob) => {
    // Its lease could end while the attempt is under way: left for whoever claims it next.
    if (stopping || performance.now() - job.leasedAtMs > startWithinMs) return;
    try {
      const result = await send(agent, secrets.open(job), job);
      const settlement = settle(job, result);
      if (settlement.gone) await onGone(job);
      await record({ job, result, settlement });
      if (settlement.dueInMs !== undefined) scheduleWake(Date.now() + settlement.dueInMs);
    } catch (err) {
      // The lease ends by itself, and the delivery is attempted again.
      log.error({ err, delivery_id: job.id, request_id: job.requestId }, 'an attempt was not recorded');
    }
  };

  const scheduleWake = (dueAtMs: number) => {
    if (dueAtMs >= nextDueAtMs) return;
    nextDueAtMs = dueAtMs;
    wake();
  };

  const start = (job: DeliveryJob) => {
    const done = attempt(job).finally(() => {
      underWay.delete(done);
      for (const next of queues.finished(job.webhookId)) start(next);
    });
    underWay.add(done);
  };

  const deliver = (jobs: readonly DeliveryJob[]) => {
    const overflow: DeliveryJob[] = [];
    for (const job of jobs) {
      const taken = queues.offer(job);
      if (taken === 'start') start(job);
      else if (taken === 'full') overflow.push(job);
    }
    if (overflow.length === 0) return;
    postpone(pool, overflow, postponeMs).catch((err: unknown) => log.warn({ err }, 'deliveries wait for their lease'));
  };

  const sleep = (delayMs: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      wake = finish;
      const timer = setTimeout(finish, delayMs);
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
    });

  return {
    name: 'delivery',
    room: () => Math.max(0, jobsLimit - queues.size),
    deliver,
    wake: () => wake(),
    async run(signal) {
      stopping = false;
      if (parts.releaseLeases) await releaseLeases(pool);
      while (!signal.aborted) {
        const limit = Math.min(claimBatch, jobsLimit - queues.size);
        const claimed = limit > 0 ? await leaseDue(pool, limit) : { jobs: [], leased: 0 };
        deliver(claimed.jobs);
        if (claimed.leased === limit && limit > 0) continue;
        const untilDueMs = nextDueAtMs - Date.now();
        if (untilDueMs <= 0) nextDueAtMs = Number.POSITIVE_INFINITY;
        await sleep(Math.max(1, Math.min(pollMs, untilDueMs)), signal);
        if (nextDueAtMs <= Date.now()) nextDueAtMs = Number.POSITIVE_INFINITY;
      }
      stopping = true;
      // What is queued is given back; what is under way ends within an attempt's time.
      const waiting = queues.drain();
      if (waiting.length > 0) await postpone(pool, waiting, 0).catch(() => {});
      await Promise.race([Promise.all(underWay), new Promise((resolve) => setTimeout(resolve, leaseMs).unref())]);
    },
  };
}
