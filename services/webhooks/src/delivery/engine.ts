import { setTimeout as delay } from 'node:timers/promises';
import { inTransaction, type Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import { abortableDelay, type Logger } from '@rms/service';
import type { Agent } from 'undici';
import { giveBack, leaseDue, type Recording, recordAttempts, releaseLeases } from './delivery-queries.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { type DeliveryJob, leaseMs, startWithinMs } from './job.ts';
import type { SecretCache } from './secret-cache.ts';
import { send } from './send.ts';
import { settle } from './settle.ts';
import { createSigners } from './unsignable.ts';
import { createWakeableSleep } from './wakeable-sleep.ts';

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
  /** Takes freshly leased jobs. What finds no room is given back. */
  deliver(jobs: readonly DeliveryJob[]): void;
  /** Looks for due deliveries now. */
  wake(): void;
}

const jobsLimit = 5_000;
const bytesLimit = 128 * 1024 * 1024;
const perEndpointInFlight = 32;
const claimBatch = 200;
const pollMs = 1_000;
const recordAgainMs = 500;

export function createDeliveryEngine(parts: DeliveryParts): DeliveryEngine {
  const { pool, agent, secrets, log, onGone } = parts;
  const queues = new EndpointQueues({ inFlight: perEndpointInFlight, jobs: jobsLimit });
  const { signerOf, unsignable } = createSigners(secrets, log);
  const underWay = new Set<Promise<void>>();
  const sleeper = createWakeableSleep();
  let stopping = false;

  const record = coalesce(
    async (recordings: Recording[]) => {
      await recordAttempts(pool, recordings);
      return recordings.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  /** As long as the lease holds: a result that is lost is an attempt that is made again. */
  const recordSurely = async (recording: Recording) => {
    for (;;) {
      try {
        return await record(recording);
      } catch (error) {
        if (performance.now() - recording.job.leasedAtMs + recordAgainMs > leaseMs) throw error;
        await delay(recordAgainMs);
      }
    }
  };

  const release = (jobs: readonly DeliveryJob[]) =>
    giveBack(pool, jobs).catch((err: unknown) => log.warn({ err }, 'deliveries wait for the end of their lease'));

  /** To whichever instance has the key; this one passes over their webhook for a while. */
  const releaseUnsigned = coalesce(
    async (jobs: DeliveryJob[]) => {
      await release(jobs);
      return jobs.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  const attempt = async (job: DeliveryJob) => {
    // Its lease could end while the attempt is under way: left for whoever claims it next.
    if (stopping || performance.now() - job.leasedAtMs > startWithinMs) return 0;
    try {
      const secret = signerOf(job);
      if (!secret) {
        await releaseUnsigned(job);
        return 0;
      }
      const result = await send(agent, secret, job);
      const settlement = settle(job, result);
      await recordSurely({ job, result, settlement });
      if (settlement.gone) await onGone(job);
      if (settlement.dueInMs !== undefined) sleeper.wakeAt(Date.now() + settlement.dueInMs);
      return result.durationMs;
    } catch (err) {
      // The lease ends by itself, and the delivery is attempted again.
      log.error({ err, delivery_id: job.id, request_id: job.requestId }, 'an attempt was not recorded');
      return 0;
    }
  };

  const start = (job: DeliveryJob) => {
    const done = attempt(job).then((durationMs) => {
      underWay.delete(done);
      const next = queues.finished(job, durationMs);
      for (const following of next.start) start(following);
      if (next.roomAgain) sleeper.wake();
    });
    underWay.add(done);
  };

  const deliver = (jobs: readonly DeliveryJob[]) => {
    const untaken: DeliveryJob[] = [];
    for (const job of jobs) {
      const taken = stopping ? 'full' : queues.offer(job);
      if (taken === 'start') start(job);
      else if (taken === 'full') untaken.push(job);
    }
    if (untaken.length > 0) void release(untaken);
  };

  const room = () => (queues.bytes < bytesLimit ? Math.max(0, jobsLimit - queues.size) : 0);

  const lease = (limit: number) =>
    inTransaction(pool, (tx) => leaseDue(tx, limit, [...queues.full(), ...unsignable()]));

  return {
    name: 'delivery',
    room,
    deliver,
    wake: sleeper.wake,
    async run(signal) {
      stopping = false;
      if (parts.releaseLeases) await releaseLeases(pool);
      while (!signal.aborted) {
        const limit = Math.min(claimBatch, room());
        const { jobs, leased } = limit > 0 ? await lease(limit) : { jobs: [], leased: 0 };
        deliver(jobs);
        // A webhook gets a part of a batch: there may be more as long as anything comes.
        if (leased === 0) await sleeper.sleep(pollMs, signal);
      }
      stopping = true;
      // What is queued is given back; what is under way ends within an attempt's time.
      const waiting = queues.drain();
      if (waiting.length > 0) await release(waiting);
      const over = new AbortController();
      await Promise.race([Promise.all(underWay), abortableDelay(leaseMs, over.signal)]);
      over.abort();
    },
  };
}
