/**
 * The delivery engine of an instance. Its states of a delivery:
 *
 *   due      in the table, not leased; the scheduler keeps up to 1,000 due webhooks, not deliveries
 *     │ refill leases deliveries that can start, or fan-out a fresh one
 *     ▼
 *   ahead    leased for a fast endpoint, waiting for a slot; released to `due` if an attempt is slow or fails
 *     │ a slot is free
 *     ▼
 *   in flight  keeps its slot: queued to start, attempted, or waiting for its result to be recorded
 *     │ recorded, or released because it was not attempted
 *     ▼
 *   ended, or due again
 *
 * Modes of the engine:
 *
 *   running   polls, and leases within the limits
 *   behind    results cannot be recorded: attempts in flight keep their slots, without new leases
 *   failed    the worker has thrown and was restarted: scans the lanes and waits 1.5 s, then runs
 *   stopping  leases nothing, releases deliveries ahead, and waits for the attempts in flight for at most a lease
 *
 * docs/adr/0025 describes the tables and the scheduler, schedule/limits.ts the limits with their reasons.
 */
import { abortableDelay, coalesce, createTurns, createWakeableSleep, waitAtMost } from '@rms/async';
import type { Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { createAttempt } from './attempt/attempt-job.ts';
import type { AttemptReporter } from './attempt/attempt-reporter.ts';
import type { EndpointAgents } from './attempt/endpoint-agents.ts';
import { type DeliveryJob, leaseMs } from './attempt/job.ts';
import type { SecretCache } from './attempt/secret-cache.ts';
import { healthOf } from './attempt/settle.ts';
import { createSigners } from './attempt/signers.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { EngineState } from './engine-gauges.ts';
import { beatMs, createInstances } from './lease/instances.ts';
import { freeLanes, type Lane } from './lease/lane-queries.ts';
import { type AbandonedWebhook, type Leased, leaseFor } from './lease/lease-queries.ts';
import { releaseLeases, releaseUnattempted } from './lease/release-queries.ts';
import { type EndpointChange, readDue, saveEndpoints } from './lease/schedule-queries.ts';
import { failAbandoned } from './record/abandoned-queries.ts';
import { failDeliveries } from './record/end-queries.ts';
import type { Endings } from './record/endings.ts';
import { type AttemptCounter, createRecorder } from './record/recorder.ts';
import type { RejectedReporter } from './rejected-reporter.ts';
import type { Outcome } from './schedule/endpoint.ts';
import type { Attempt } from './schedule/entries.ts';
import { limits } from './schedule/limits.ts';
import { type Capacity, type Next, type Refill, Scheduler } from './schedule/scheduler.ts';

export interface DeliveryParts {
  readonly pool: Pool;
  /** Pool for leases and recordings; see WebhooksContext. */
  readonly keyedPool: Pool;
  readonly agents: EndpointAgents;
  readonly secrets: SecretCache;
  readonly health: EndpointHealth;
  readonly endings: Pick<Endings, 'statementsOf'>;
  readonly counters: readonly AttemptCounter[];
  readonly report: AttemptReporter;
  readonly reportRejected: RejectedReporter;
  readonly log: Logger;
  readonly releaseLeases: boolean;
}

/** Attempts due deliveries, and fresh deliveries that fan-out has leased. */
export interface DeliveryEngine extends Worker {
  /** Returns how many fresh deliveries fan-out may lease. */
  freeCapacity(): Capacity;
  /** Attempts leased deliveries. Releases deliveries that exceed a limit; they are leased again later. */
  deliver(jobs: readonly DeliveryJob[]): void;
  /** Polls for due deliveries immediately. */
  wake(): void;
  /** Leases due deliveries of these webhooks as soon as they can start. */
  wakeFor(webhookIds: readonly string[]): void;
  /** Returns statistics for metrics. */
  state(): EngineState;
}

/** A leased delivery. */
interface Task extends Attempt {
  readonly job: DeliveryJob;
}

const noCapacity: Capacity = {
  total: 0,
  ofWorkspaces: new Map(),
  ofOtherWorkspaces: 0,
  ofWebhooks: new Map(),
  part: { rank: 0, count: 1 },
};

/**
 * Creates the engine. It has four steps:
 *
 *   poll    reads the due webhooks (schedule-queries.ts)
 *   refill  leases deliveries that can start now (scheduler.ts decides, lease-queries.ts leases)
 *   attempt signs and sends (attempt-job.ts)
 *   record  writes results in batches (recorder.ts)
 *
 * An attempt keeps its slot until its result is recorded, so a crash repeats at most the attempts in flight.
 */
export function createDeliveryEngine(parts: DeliveryParts): DeliveryEngine {
  const { pool, keyedPool, agents, secrets, health, endings, counters, report, reportRejected, log } = parts;
  const scheduler = new Scheduler<Task>(limits);
  const signers = createSigners(secrets, log);
  const { unsignable } = signers;
  const attemptJob = createAttempt({ agents, signers, report, isFailing: (id) => scheduler.isFailing(id) });
  const running = new Set<Promise<void>>();
  const sleeper = createWakeableSleep();
  const inTurn = createTurns(limits.startsPerTurnMs);
  const instances = createInstances(pool);
  const recorder = createRecorder({ pool: keyedPool, log, counters, onFreed: (ids) => wakeFor(ids) });
  let stopping = true;

  const track = (work: Promise<void>) => {
    const done = work.finally(() => running.delete(done));
    running.add(done);
  };

  /** Whether deliveries may be leased. Attempts with results that cannot be recorded would be repeated. */
  const mayLease = () => !stopping && !recorder.behind();

  /** Releases leased deliveries that this instance will not attempt, so that another instance can. */
  const release = coalesce(
    async (jobs: DeliveryJob[]) => {
      await releaseUnattempted(keyedPool, jobs).catch((err: unknown) =>
        log.warn({ err }, 'could not release leases; deliveries resume when the leases expire'),
      );
      return jobs.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  /** Stores changes of the state that all instances share. */
  const saveChange = coalesce(
    async (changes: EndpointChange[]) => {
      await saveEndpoints(pool, changes, limits.jitter);
      return changes.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  const start = (task: Task) =>
    track(new Promise((resolve) => inTurn(task.job.workspaceId, () => resolve(attempt(task)))));

  const attempt = async (task: Task): Promise<void> => {
    const { job } = task;
    let outcome: Outcome = { durationMs: 0, health: 'not attempted' };
    try {
      // A result that cannot be recorded would cause another attempt.
      if (recorder.behind()) await recorder.caughtUp();
      const attempted = await attemptJob(job);
      if ('releaseAfterMs' in attempted) {
        // It keeps its slot until then.
        if (attempted.releaseAfterMs > 0) await abortableDelay(attempted.releaseAfterMs, stop.signal);
        await release(job);
      } else {
        const { result, settlement } = attempted;
        await recorder.record({ job, result, settlement });
        await health.note(job, settlement, scheduler.isOpen(job.webhookId));
        outcome = { durationMs: result.durationMs, health: healthOf(result) };
        if (settlement.dueInMs !== undefined) sleeper.wakeAt(performance.now() + settlement.dueInMs);
      }
    } catch (err) {
      report.unrecorded(job, err);
    }
    finish(task, outcome);
  };

  /** Ends an attempt and starts the next ones. */
  const finish = (task: Task, outcome: Outcome) => {
    const next = scheduler.finish(task, outcome);
    if (next.change) track(share(task.job, next.change));
    proceed(next);
    refill();
  };

  const proceed = (next: Next<Task>) => {
    for (const task of next.start) start(task);
    for (const { job } of next.release) track(release(job).then(() => {}));
  };

  const share = async ({ webhookId }: DeliveryJob, change: Omit<EndpointChange, 'webhookId'>): Promise<void> => {
    try {
      await saveChange({ webhookId, ...change });
      // The next poll reads the probe's time, or leases deliveries behind a closed circuit.
      sleeper.wake();
    } catch (err) {
      log.warn({ err, webhook_id: webhookId }, 'could not store the state of an endpoint');
    }
  };

  let refilling = false;
  /** Leases deliveries that can start now, one statement at a time. Slots that become free during it share the next. */
  const refill = () => {
    if (refilling || !mayLease()) return;
    refilling = true;
    track(refillAll());
  };
  const refillAll = async (): Promise<void> => {
    for (;;) {
      const refills = mayLease() ? scheduler.next(unsignable()) : [];
      if (refills.length === 0) {
        refilling = false;
        return;
      }
      const { jobs, lost, abandoned, results, locked } = await lease(refills);
      proceed(scheduler.refilled(refills, results));
      deliver(jobs);
      if (lost.length > 0) await endLost(lost);
      endAbandoned(abandoned);
      if (locked.length > 0) track(abortableDelay(limits.lockedMs, stop.signal).then(() => wakeFor(locked)));
    }
  };

  const lease = async (refills: readonly Refill[]): Promise<Leased> => {
    try {
      return await leaseFor(keyedPool, refills, instances.part());
    } catch (err) {
      log.warn({ err }, 'could not lease due deliveries; the next poll retries them');
      return { jobs: [], lost: [], abandoned: [], results: [], locked: [] };
    }
  };

  /** Ends leased deliveries that cannot be attempted. */
  const endLost = async (lost: Leased['lost']): Promise<void> => {
    try {
      reportRejected(await failDeliveries(pool, lost, 'event_erased'));
    } catch (err) {
      log.warn({ err }, 'could not end deliveries without a body; they are tried again when their leases expire');
    }
  };

  const deliver = (jobs: readonly DeliveryJob[]) => {
    for (const job of jobs) {
      const task = taskOf(job);
      const taken = stopping ? 'full' : scheduler.offer(task);
      if (taken === 'start') start(task);
      else if (taken === 'full') track(release(job).then(() => wakeFor([job.webhookId])));
    }
  };

  const ending = new Set<string>();
  /** Ends the queued deliveries of deleted and disabled webhooks. */
  const endAbandoned = (webhooks: readonly AbandonedWebhook[]) => {
    for (const webhook of webhooks) {
      if (ending.has(webhook.id)) continue;
      ending.add(webhook.id);
      const ended = failAbandoned(endings.statementsOf(webhook.workspaceId), webhook, stop.signal)
        .then(reportRejected)
        .catch((err: unknown) => log.warn({ err, webhook_id: webhook.id }, 'could not end the deliveries of a webhook'))
        .finally(() => ending.delete(webhook.id));
      track(ended.then(() => {}));
    }
  };

  const wakeFor = (webhookIds: readonly string[]) => {
    if (scheduler.stored(webhookIds)) sleeper.wake();
    refill();
  };

  /** Polls for due webhooks. Returns the time until the next poll in milliseconds. */
  const poll = async (): Promise<number> => {
    refill();
    if (!mayLease() || !scheduler.canPoll) return limits.pollMs;
    const { webhookIds, workspaceIds } = scheduler.excluded();
    const excluded = { webhookIds: [...webhookIds, ...unsignable()], workspaceIds };
    const { webhooks, nextMs = limits.pollMs } = await readDue(pool, excluded, limits.webhooksPerLease);
    scheduler.found(webhooks);
    refill();
    return webhooks.length > 0 ? 0 : Math.min(nextMs, limits.pollMs);
  };

  let beatAtMs = Number.NEGATIVE_INFINITY;
  const beatPeriodically = async () => {
    if (performance.now() < beatAtMs) return;
    await instances.beat();
    scheduler.part = instances.part();
    beatAtMs = performance.now() + beatMs;
  };

  let lanesDueAtMs = Number.NEGATIVE_INFINITY;
  /** Where the next scan continues. */
  let lastLane: Lane | undefined;
  /** Scans some lanes, for at most part of the time, however many there are. */
  const scanLanes = async (): Promise<void> => {
    const beganAtMs = performance.now();
    lanesDueAtMs = Number.POSITIVE_INFINITY;
    try {
      const { freed, last } = await freeLanes(pool, lastLane);
      lastLane = last;
      if (freed > 0) sleeper.wake();
    } finally {
      const leastMs = lastLane ? 0 : limits.pollMs;
      lanesDueAtMs = beganAtMs + Math.max(leastMs, (performance.now() - beganAtMs) / limits.partOfTimeForLanes);
    }
  };
  const scanLanesPeriodically = () => {
    if (performance.now() < lanesDueAtMs) return;
    track(scanLanes().catch((err: unknown) => log.warn({ err }, 'could not scan the lanes; retrying')));
  };

  /** Whether an earlier run has failed. */
  let failed = false;
  let stop = new AbortController();

  return {
    name: 'delivery',
    freeCapacity: () => (mayLease() ? scheduler.capacity() : noCapacity),
    deliver,
    wake: sleeper.wake,
    wakeFor,
    state: () => ({ ...scheduler.stats(), unsignable: unsignable(), unrecorded: recorder.waiting() }),
    async run(signal, state) {
      stopping = false;
      stop = new AbortController();
      if (parts.releaseLeases) await releaseLeases(pool);
      if (failed) {
        await scanLanes();
        await abortableDelay(limits.afterOutageMs, signal);
      }
      failed = true;
      while (!signal.aborted) {
        await beatPeriodically();
        scanLanesPeriodically();
        const beganAtMs = performance.now();
        const waitMs = await poll();
        if (recorder.behind()) state?.stuck();
        else state?.working();
        // Bounds the cost of polls, however often the loop wakes and however many due webhooks a poll must skip.
        const ownPartMs = (performance.now() - beganAtMs) / limits.partOfTimeForPolls;
        const pauseMs = Math.min(limits.pollMs, Math.max(limits.betweenPollsMs, ownPartMs));
        await abortableDelay(pauseMs, signal);
        await sleeper.sleep(Math.max(0, waitMs - pauseMs), signal);
      }
      stopping = true;
      stop.abort();
      for (const { job } of scheduler.drain()) track(release(job).then(() => {}));
      // Attempts end within their timeout.
      await waitAtMost(Promise.all(running), leaseMs);
      recorder.stop();
      await instances.leave().catch((err: unknown) => log.warn({ err }, 'could not sign off; expires by itself'));
    },
  };
}

function taskOf(job: DeliveryJob): Task {
  const { id, webhookId, workspaceId, endpoint, body } = job;
  const { url, maxConcurrency } = endpoint;
  return { id, endpoint: { webhookId, workspaceId, url }, maxConcurrency, bytes: body.length, job };
}
