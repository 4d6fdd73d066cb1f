import type { Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import type { AttemptReporter } from './attempt-reporter.ts';
import { traceAttempt } from './attempt-span.ts';
import { failDeliveries } from './end-queries.ts';
import type { EndpointAgents } from './endpoint-agents.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { Openings, Outcome } from './endpoint-queue.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import type { EngineState } from './engine-gauges.ts';
import { type DeliveryJob, type DeliveryRef, leaseMs, startWithinMs } from './job.ts';
import { freeLanes } from './lane-queries.ts';
import { leaseThese } from './lease-queries.ts';
import { createLeasing, nothingLeased } from './leasing.ts';
import { createPace } from './pace.ts';
import { type AttemptCounter, createRecorder } from './recorder.ts';
import { giveBack, releaseLeases } from './release-queries.ts';
import type { SecretCache } from './secret-cache.ts';
import { send } from './send.ts';
import { healthOf, settle } from './settle.ts';
import { createSigners } from './unsignable.ts';
import { createWakeableSleep } from './wakeable-sleep.ts';

export interface DeliveryParts {
  readonly pool: Pool;
  /** Where results are recorded: see WebhooksContext. */
  readonly keyedPool: Pool;
  readonly agents: EndpointAgents;
  readonly secrets: SecretCache;
  readonly health: EndpointHealth;
  readonly counters: readonly AttemptCounter[];
  readonly report: AttemptReporter;
  readonly log: Logger;
  readonly releaseLeases: boolean;
}

/** Attempts deliveries: fresh ones that fan-out hands over, and those that are due. */
export interface DeliveryEngine extends Worker {
  /** What can be taken right now. */
  openings(): Openings;
  /** Takes freshly leased jobs. What finds no room is given back. */
  deliver(jobs: readonly DeliveryJob[]): void;
  /** Looks for due deliveries now. */
  wake(): void;
  /** Looks now if deliveries of any of these webhooks could be taken; otherwise once they can. */
  wakeFor(webhookIds: readonly string[]): void;
  /** What it has at hand. */
  state(): EngineState;
}

const limits = { inFlight: 32, inFlightOfWorkspace: 512, inFlightOfAll: 2_560, waiting: 5_440 };
const bytesLimit = 128 * 1024 * 1024;
/** Deliveries that a look at the queue leases at most: of looks that follow one another each may take twice as many. */
const leaseBatch = { first: 32, largest: 400 };
const pollMs = 1_000;
/** After the database was away: so long others have to record what they know, before leases that ended are taken over. */
const afterOutageMs = 1_500;
/** A look at the queue that took longer and found nothing is followed by a rest. */
const costlyMs = 20;
/** Attempts at endpoints that fail begin at this pace, so that those at others go in between. */
const failingPace = { together: 3, restMs: 25 };
/** Probes that fall due within such a time share one look at the queue. */
const probesTogetherMs = 250;
/** Lanes are looked through for this part of the time at most. */
const timeForLanes = 1 / 20;
const notAttempted: Outcome = { durationMs: 0, health: 'not attempted' };

export function createDeliveryEngine(parts: DeliveryParts): DeliveryEngine {
  const { pool, keyedPool, agents, secrets, health, counters, report, log } = parts;
  const queues = new EndpointQueues(limits);
  const { signerOf, unsignable } = createSigners(secrets, log);
  const leasing = createLeasing(pool, queues, unsignable);
  const underWay = new Set<Promise<void>>();
  const paceOfFailing = createPace(failingPace.together, failingPace.restMs);
  const sleeper = createWakeableSleep();
  const recorder = createRecorder({ pool: keyedPool, log, counters, onFreed: (freed) => track(deliverFreed(freed)) });
  let stopping = false;

  const release = (jobs: readonly DeliveryJob[]) =>
    giveBack(pool, jobs).catch((err: unknown) => log.warn({ err }, 'deliveries wait for the end of their lease'));

  /** Jobs that this instance does not attempt though it has taken them; they are due for whoever does. */
  const releaseTogether = coalesce(
    async (jobs: DeliveryJob[]) => {
      await release(jobs);
      return jobs.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  const attempt = async (job: DeliveryJob): Promise<Outcome> => {
    // What cannot be recorded would have to be attempted again.
    if (recorder.behind()) await recorder.caughtUp();
    const wasFailing = queues.isFailing(job.webhookId);
    if (wasFailing) await paceOfFailing();
    try {
      // Its lease could end while the attempt is under way.
      const tooLate = stopping || performance.now() - job.leasedAtMs > startWithinMs;
      // Without the key: this instance passes over the webhook for a while, and another one may have it.
      const signer = tooLate ? undefined : signerOf(job);
      if (!signer) {
        report.givenBack(tooLate ? 'late' : 'secret');
        await releaseTogether(job);
        return notAttempted;
      }
      const agent = agents.of(job.webhookId, job.endpoint);
      const result = await traceAttempt(job, (traceparent) =>
        send(agent, signer, { ...job, url: job.endpoint.url, traceparent }),
      );
      const settlement = settle(job, result);
      report.attempted(job, result, settlement, wasFailing);
      await recorder.record({ job, result, settlement });
      await health.note(job, settlement);
      return { durationMs: result.durationMs, health: healthOf(result), dueInMs: settlement.dueInMs };
    } catch (err) {
      report.unrecorded(job, err);
      return notAttempted;
    }
  };

  const track = (work: Promise<void>) => {
    const done = work.finally(() => underWay.delete(done));
    underWay.add(done);
  };

  const start = (job: DeliveryJob) => track(attempt(job).then((outcome) => follow(job, outcome)));
  const follow = (job: DeliveryJob, outcome: Outcome) => {
    const next = queues.finished(job, outcome);
    health.noteCircuit(job, next);
    for (const following of next.start) start(following);
    if (next.giveBack.length > 0) void release(next.giveBack);
    if (next.roomAgain) sleeper.wake();
    // While its circuit is open there is nothing to take: the next probe wakes.
    if (outcome.dueInMs !== undefined && !next.isOpen) sleeper.wakeAt(Date.now() + outcome.dueInMs);
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

  const room = () => (queues.bytes < bytesLimit ? Math.max(0, limits.inFlightOfAll + limits.waiting - queues.size) : 0);

  /** What is next in its lane at once, and not when a walk through all that is due comes to it. */
  const deliverFreed = async (freed: readonly DeliveryRef[]) => {
    try {
      if (stopping || room() < freed.length) return sleeper.wake();
      const { jobs, lost } = await leaseThese(pool, freed);
      deliver(jobs);
      if (lost.length === 0) return;
      await failDeliveries(pool, lost);
      // Their ends have freed others.
      sleeper.wake();
    } catch (err) {
      log.warn({ err }, 'the next deliveries of lanes wait for the next look at what is due');
    }
  };

  /** After a look at the queue that has found nothing. */
  const restAfter = async (tookMs: number, signal: AbortSignal) => {
    if (tookMs > costlyMs) await abortableDelay(Math.min(tookMs, pollMs), signal);
  };

  /** Until a probe is due, or `atMs`, or it is woken; answers whether it was. */
  const untilNext = (atMs: number, signal: AbortSignal) => {
    const probeAtMs = queues.nextProbeAtMs() ?? atMs;
    const togetherAtMs = Math.ceil(probeAtMs / probesTogetherMs) * probesTogetherMs;
    return sleeper.sleep(Math.max(0, Math.min(togetherAtMs, atMs) - performance.now()), signal);
  };

  /** Whether an earlier run has ended by a failure. */
  let failed = false;
  let lanesDueAtMs = Number.NEGATIVE_INFINITY;
  /** However much there is to lease, and however often it is woken. */
  const freeLanesNowAndThen = async () => {
    const beganAtMs = performance.now();
    if (beganAtMs < lanesDueAtMs) return;
    await freeLanes(pool);
    lanesDueAtMs = beganAtMs + Math.max(pollMs, (performance.now() - beganAtMs) / timeForLanes);
  };

  return {
    name: 'delivery',
    openings: () => ({ room: room(), ...queues.openings() }),
    deliver,
    wake: sleeper.wake,
    wakeFor(webhookIds) {
      if (webhookIds.some((id) => queues.canTake(id))) sleeper.wake();
    },
    state: () => ({ ...queues.state(), unsignable: unsignable(), unrecorded: recorder.waiting() }),
    async run(signal, state) {
      stopping = false;
      if (parts.releaseLeases) await releaseLeases(pool);
      if (failed) {
        await freeLanesNowAndThen();
        await abortableDelay(afterOutageMs, signal);
      }
      failed = true;
      /** When to look at all webhooks again; until then at those only that are to be probed. */
      let allDueAtMs = Number.NEGATIVE_INFINITY;
      let batch = leaseBatch.first;
      while (!signal.aborted) {
        await freeLanesNowAndThen();
        // Leases of what this instance has attempted, and cannot record, end as well.
        const limit = recorder.behind() ? 0 : Math.min(batch, room());
        const beganAtMs = performance.now();
        const all = beganAtMs >= allDueAtMs;
        const lease = all ? leasing.ofAll : leasing.ofProbes;
        const { jobs, lost, leased } = limit > 0 ? await lease(limit) : nothingLeased;
        if (recorder.behind()) state?.stuck();
        else state?.working();
        deliver(jobs);
        if (lost.length > 0) await failDeliveries(pool, lost);
        // A webhook gets a part of a batch: there may be more of one that can take more.
        const canTakeMore =
          leased === limit || lost.length > 0 || jobs.some(({ webhookId }) => queues.canTake(webhookId));
        if (leased > 0 && canTakeMore) {
          batch = Math.min(batch * 2, leaseBatch.largest);
          continue;
        }
        batch = leaseBatch.first;
        const endedAtMs = performance.now();
        if (all) allDueAtMs = endedAtMs + pollMs;
        if (leased === 0) await restAfter(endedAtMs - beganAtMs, signal);
        if (await untilNext(allDueAtMs, signal)) allDueAtMs = Number.NEGATIVE_INFINITY;
      }
      stopping = true;
      // What is queued is given back; what is under way ends within an attempt's time.
      const waiting = queues.drain();
      if (waiting.length > 0) await release(waiting);
      const over = new AbortController();
      await Promise.race([Promise.all(underWay), abortableDelay(leaseMs, over.signal)]);
      over.abort();
      recorder.stop();
    },
  };
}
