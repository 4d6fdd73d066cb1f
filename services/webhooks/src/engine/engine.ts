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
 *   running   polls while webhooks are scheduled (docs/adr/0033), and leases within the limits
 *   behind    results cannot be recorded: attempts in flight wait, and leasing stops
 *   failed    the worker has thrown and was restarted: waits 1.5 s, then runs
 *   stopping  leases nothing, releases what is ahead, and waits for the attempts in flight for at most 20 s
 *
 * Its steps:
 *
 *   poll      reads the due webhooks (schedule-queries.ts)
 *   refill    leases deliveries that can start now (scheduler.ts decides, lease-queries.ts leases)
 *   attempt   signs, sends and records (attempt.ts; recorder.ts writes results in batches)
 *   finish    notes the outcome, and starts or leases the next deliveries
 *
 * An attempt keeps its slot until its result is recorded, so a crash repeats at most the attempts in flight.
 *
 * docs/adr/0025 describes the tables and the scheduler, schedule/limits.ts the limits with their reasons.
 */

import { abortableDelay, coalesce, createTurns, waitAtMost } from '@rms/async';
import type { Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker, WorkerHealth } from '@rms/runtime/service';
import type { AttemptReporter } from './attempt/attempt-reporter.ts';
import type { EndpointAgents } from './attempt/endpoint-agents.ts';
import type { DeliveryJob } from './attempt/job.ts';
import { type SecretCache, Signers } from './attempt/signers.ts';
import { type AttemptParts, attemptDelivery } from './attempt.ts';
import type { EngineState } from './engine-gauges.ts';
import { beatMs, createInstances, type Instances } from './lease/instances.ts';
import {
  type AbandonedWebhook,
  type Leased,
  leaseFor,
  releaseLeases,
  releaseUnattempted,
} from './lease/lease-queries.ts';
import { type EndpointChange, readDue, saveEndpoints } from './lease/schedule-queries.ts';
import { failDeliveries } from './record/end-queries.ts';
import type { Endings } from './record/endings.ts';
import type { EndpointHealth } from './record/endpoint-health.ts';
import { type AttemptCounter, createRecorder, type Recorder } from './record/recorder.ts';
import type { RejectedReporter } from './rejected-reporter.ts';
import type { Outcome } from './schedule/endpoint.ts';
import type { Attempt } from './schedule/entries.ts';
import { limits } from './schedule/limits.ts';
import { type Capacity, type Next, type Refill, Scheduler } from './schedule/scheduler.ts';

export interface EngineParts {
  readonly pool: Pool;
  /** Pool for leases and recordings; see WebhooksContext. */
  readonly keyedPool: Pool;
  /** The webhooks with deliveries that are or will be due. */
  readonly scheduled: Queue;
  readonly agents: EndpointAgents;
  readonly secrets: SecretCache;
  readonly health: EndpointHealth;
  readonly endings: Endings;
  readonly counters: readonly AttemptCounter[];
  readonly report: AttemptReporter;
  readonly reportRejected: RejectedReporter;
  readonly log: Logger;
  readonly releaseLeases: boolean;
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
const nothingLeased: Leased = { jobs: [], lost: [], abandoned: [], results: [], locked: [] };

/** Attempts due deliveries, and fresh deliveries that fan-out has leased. */
export class DeliveryEngine implements Worker {
  readonly name = 'delivery';
  readonly #parts: EngineParts;
  readonly #scheduler = new Scheduler<Task>(limits);
  readonly #recorder: Recorder;
  readonly #signers: Signers;
  readonly #attempts: AttemptParts;
  readonly #instances: Instances;
  readonly #inTurn = createTurns(limits.startsPerTurnMs);
  /** Work that a stopping engine waits for. */
  readonly #running = new Set<Promise<void>>();
  /** Aborted while the engine does not run. */
  #stop = new AbortController();
  /** Whether an earlier run has failed. */
  #failed = false;
  #refilling = false;
  #beatAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: EngineParts) {
    const { pool, keyedPool, secrets, counters, log } = parts;
    this.#parts = parts;
    this.#stop.abort();
    this.#signers = new Signers(secrets, log);
    this.#instances = createInstances(pool);
    this.#recorder = createRecorder({ pool: keyedPool, log, counters, onFreed: (ids) => this.wakeFor(ids) });
    const own = {
      signers: this.#signers,
      recorder: this.#recorder,
      endpoints: this.#scheduler,
      release: this.#release,
    };
    this.#attempts = { ...parts, ...own };
  }

  /** Returns how many fresh deliveries fan-out may lease. */
  freeCapacity(): Capacity {
    return this.#mayLease ? this.#scheduler.capacity() : noCapacity;
  }

  /** Attempts leased deliveries. Releases deliveries that exceed a limit; they are leased again later. */
  deliver(jobs: readonly DeliveryJob[]): void {
    for (const job of jobs) {
      const task = taskOf(job);
      const taken = this.#stop.signal.aborted ? 'full' : this.#scheduler.offer(task);
      if (taken === 'start') this.#start(task);
      else if (taken === 'full') this.#track(this.#release(job).then(() => this.wakeFor([job.webhookId])));
    }
  }

  /** Polls for due deliveries immediately. */
  wake(): void {
    this.#parts.scheduled.wake();
  }

  /** Leases due deliveries of these webhooks as soon as they can start. */
  wakeFor(webhookIds: readonly string[]): void {
    if (this.#scheduler.stored(webhookIds)) this.wake();
    this.#refill();
  }

  /** Returns statistics for metrics. */
  state(): EngineState {
    const unsignable = this.#signers.unsignable();
    return { ...this.#scheduler.stats(), unsignable, unrecorded: this.#recorder.waiting() };
  }

  async run(signal: AbortSignal, health?: WorkerHealth): Promise<void> {
    const { pool, scheduled, log } = this.#parts;
    this.#stop = new AbortController();
    if (this.#parts.releaseLeases) await releaseLeases(pool);
    if (this.#failed) await abortableDelay(limits.afterOutageMs, signal);
    this.#failed = true;
    while (!signal.aborted) {
      await this.#beat();
      const beganAtMs = performance.now();
      const waitMs = await this.#poll();
      if (this.#recorder.behind()) health?.stuck();
      else health?.working();
      // Bounds the cost of polls, however often the loop wakes and however many due webhooks a poll must skip.
      const ownPartMs = (performance.now() - beganAtMs) / limits.partOfTimeForPolls;
      const pauseMs = Math.min(limits.pollMs, Math.max(limits.betweenPollsMs, ownPartMs));
      await abortableDelay(pauseMs, signal);
      await scheduled.sleep(Math.max(0, waitMs - pauseMs), signal, this.#beatAtMs - performance.now());
    }
    this.#stop.abort();
    for (const { job } of this.#scheduler.drain()) this.#track(this.#release(job));
    // An attempt that is cut off is repeated when its lease expires.
    await waitAtMost(Promise.all(this.#running), limits.stopWithinMs);
    this.#recorder.stop();
    await this.#instances.leave().catch((err: unknown) => log.warn({ err }, 'could not sign off; expires by itself'));
  }

  /** Whether deliveries may be leased. Attempts whose results cannot be recorded would be repeated. */
  get #mayLease(): boolean {
    return !this.#stop.signal.aborted && !this.#recorder.behind();
  }

  async #beat(): Promise<void> {
    if (performance.now() < this.#beatAtMs) return;
    await this.#instances.beat();
    this.#scheduler.part = this.#instances.part();
    this.#beatAtMs = performance.now() + beatMs;
  }

  /** Polls for due webhooks. Returns the time until the next poll in milliseconds. */
  async #poll(): Promise<number> {
    this.#refill();
    if (!this.#mayLease || !this.#scheduler.canPoll || !this.#parts.scheduled.mayHaveRows) return limits.pollMs;
    const { webhookIds, workspaceIds } = this.#scheduler.excluded();
    const excluded = { webhookIds: [...webhookIds, ...this.#signers.unsignable()], workspaceIds };
    const { webhooks, nextMs = limits.pollMs } = await readDue(this.#parts.pool, excluded, limits.webhooksPerLease);
    this.#scheduler.found(webhooks);
    this.#refill();
    return webhooks.length > 0 ? 0 : Math.min(nextMs, limits.pollMs);
  }

  /** Leases deliveries that can start now, one statement at a time. Slots freed during one share the next. */
  #refill(): void {
    if (this.#refilling || !this.#mayLease) return;
    this.#refilling = true;
    this.#track(this.#refillAll());
  }

  async #refillAll(): Promise<void> {
    for (;;) {
      const refills = this.#mayLease ? this.#scheduler.next(this.#signers.unsignable()) : [];
      if (refills.length === 0) {
        this.#refilling = false;
        return;
      }
      const { jobs, lost, abandoned, results, locked } = await this.#lease(refills);
      this.#proceed(this.#scheduler.refilled(refills, results));
      this.deliver(jobs);
      if (lost.length > 0) await this.#endLost(lost);
      for (const webhook of abandoned) this.#endAbandoned(webhook);
      if (locked.length > 0)
        this.#track(abortableDelay(limits.lockedMs, this.#stop.signal).then(() => this.wakeFor(locked)));
    }
  }

  async #lease(refills: readonly Refill[]): Promise<Leased> {
    try {
      return await leaseFor(this.#parts.keyedPool, refills, this.#instances.part());
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not lease due deliveries; the next poll retries them');
      return nothingLeased;
    }
  }

  #start(task: Task): void {
    // The turn includes the synchronous part of the attempt.
    const attempted = new Promise<void>((resolve) =>
      this.#inTurn(task.job.workspaceId, () => resolve(this.#attemptAndFinish(task))),
    );
    this.#track(attempted);
  }

  async #attemptAndFinish(task: Task): Promise<void> {
    let outcome: Outcome = { durationMs: 0, health: 'not attempted' };
    try {
      const attempted = await attemptDelivery(task.job, this.#attempts, this.#stop.signal);
      outcome = attempted;
      if (attempted.dueInMs !== undefined) this.#parts.scheduled.wake(attempted.dueInMs);
    } catch (err) {
      this.#parts.report.unrecorded(task.job, err);
    }
    const next = this.#scheduler.finish(task, outcome);
    if (next.change) this.#track(this.#share({ webhookId: task.job.webhookId, ...next.change }));
    this.#proceed(next);
    this.#refill();
  }

  /** Starts or releases deliveries that are leased ahead. */
  #proceed({ start, release }: Next<Task>): void {
    for (const task of start) this.#start(task);
    for (const { job } of release) this.#track(this.#release(job));
  }

  /** Releases leased deliveries that this instance will not attempt, so that another instance can. */
  readonly #release = coalesce<DeliveryJob, void>(
    async (jobs) => {
      await releaseUnattempted(this.#parts.keyedPool, jobs).catch((err: unknown) =>
        this.#parts.log.warn({ err }, 'could not release leases; deliveries resume when the leases expire'),
      );
      return jobs.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  /** Stores changes of the state that all instances share. */
  readonly #saveChange = coalesce<EndpointChange, void>(
    async (changes) => {
      await saveEndpoints(this.#parts.pool, changes, limits.jitter);
      return changes.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  async #share(change: EndpointChange): Promise<void> {
    try {
      await this.#saveChange(change);
      // The next poll reads the probe's time, or leases a closed circuit's deliveries.
      this.wake();
    } catch (err) {
      this.#parts.log.warn({ err, webhook_id: change.webhookId }, 'could not store the state of an endpoint');
    }
  }

  /** Ends leased deliveries that cannot be attempted. */
  async #endLost(lost: Leased['lost']): Promise<void> {
    const { pool, reportRejected, log } = this.#parts;
    try {
      reportRejected(await failDeliveries(pool, lost, 'event_erased'));
    } catch (err) {
      log.warn({ err }, 'could not end deliveries without a body; they are tried again when their leases expire');
    }
  }

  /** Ends the queued deliveries of a deleted or disabled webhook. */
  #endAbandoned(webhook: AbandonedWebhook): void {
    const { endings, reportRejected, log } = this.#parts;
    this.#track(
      endings
        .fail(webhook, this.#stop.signal)
        .then(reportRejected)
        .catch((err: unknown) =>
          log.warn({ err, webhook_id: webhook.id }, 'could not end the deliveries of a webhook'),
        ),
    );
  }

  #track(work: Promise<void>): void {
    const done = work.finally(() => this.#running.delete(done));
    this.#running.add(done);
  }
}

function taskOf(job: DeliveryJob): Task {
  const { id, webhookId, workspaceId, body } = job;
  const { maxConcurrency } = job.endpoint;
  return { id, endpoint: { webhookId, workspaceId }, maxConcurrency, bytes: body.length, job };
}
