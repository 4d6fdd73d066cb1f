import { jittered } from '../../src/engine/schedule/endpoint.ts';
import type { Attempt, EndpointRef } from '../../src/engine/schedule/entries.ts';
import { limits as allLimits } from '../../src/engine/schedule/limits.ts';
import { type Next, type Refill, type Refilled, Scheduler } from '../../src/engine/schedule/scheduler.ts';
import { NaiveScheduler } from './naive-scheduler.ts';

/** Low limits, so that short histories reach them. */
export const limits = {
  ...allLimits,
  attempts: 8,
  attemptsOfWorkspace: 5,
  attemptsOfWebhook: 3,
  deliveriesPerLease: 4,
  webhooksPerLease: 2,
  waiting: 4,
  failuresToOpen: 3,
};
export const leaseMs = 20_000;
const attemptTimeoutMs = 10_000;

export const refs: EndpointRef[] = [
  { webhookId: 'wh_1', workspaceId: 'ws_1' },
  { webhookId: 'wh_2', workspaceId: 'ws_1' },
  { webhookId: 'wh_3', workspaceId: 'ws_1' },
  { webhookId: 'wh_4', workspaceId: 'ws_2' },
  { webhookId: 'wh_5', workspaceId: 'ws_2' },
  { webhookId: 'wh_6', workspaceId: 'ws_3' },
];

interface Row {
  readonly id: string;
  dueAtMs: number;
}

/** A webhook's rows in the database. */
interface Stored {
  readonly rows: Row[];
  nextDueAtMs: number | undefined;
  pauseMs: number;
  concurrency: number | undefined;
}

interface Started extends Attempt {
  /** Whether the circuit was open when the delivery was leased. */
  readonly wasOpen: boolean;
  startedAtMs: number;
}

/** The implementations that keep the limits in every history. */
export const schedulers = { scheduler: Scheduler, 'naive reference': NaiveScheduler };

/** An instance and the tables, with their own clock. */
export class World {
  nowMs = 0;
  readonly #kind: keyof typeof schedulers;
  scheduler: Scheduler<Started> | NaiveScheduler<Started>;
  readonly stored = new Map<string, Stored>(
    refs.map(({ webhookId }) => [webhookId, { rows: [], nextDueAtMs: undefined, pauseMs: 0, concurrency: undefined }]),
  );
  inFlight: Started[] = [];
  #created = 0;
  #refills: Refill[] = [];
  readonly #fresh: { ref: EndpointRef; row: Row }[] = [];

  constructor(kind: keyof typeof schedulers = 'scheduler') {
    this.#kind = kind;
    this.scheduler = new schedulers[kind]<Started>(limits);
  }

  /** Stores deliveries that fan-out did not lease. */
  publish(ref: EndpointRef, count: number): void {
    const stored = this.#of(ref.webhookId);
    for (let i = 0; i < count; i += 1) {
      this.#created += 1;
      stored.rows.push({ id: `dlv_${this.#created}`, dueAtMs: this.nowMs });
    }
    if (stored.pauseMs === 0) stored.nextDueAtMs = Math.min(stored.nextDueAtMs ?? this.nowMs, this.nowMs);
    this.scheduler.stored([ref.webhookId]);
  }

  /** Stores a delivery that fan-out leases if the capacity allows it. {@link offerFresh} passes it to the scheduler. */
  publishFresh(ref: EndpointRef): void {
    const { total, ofWorkspaces, ofOtherWorkspaces, ofWebhooks } = this.scheduler.capacity();
    const { webhookId, workspaceId } = ref;
    const ofWorkspace = ofWorkspaces.get(workspaceId) ?? ofOtherWorkspaces;
    const free = Math.min(total, ofWorkspace, ofWebhooks.get(webhookId) ?? limits.attemptsOfWebhook);
    const stored = this.#of(webhookId);
    if (free < 1 || stored.pauseMs > 0 || stored.concurrency !== undefined) {
      this.publish(ref, 1);
      return;
    }
    this.#created += 1;
    const row = { id: `dlv_${this.#created}`, dueAtMs: this.nowMs + leaseMs };
    stored.rows.push(row);
    stored.nextDueAtMs = Math.min(stored.nextDueAtMs ?? row.dueAtMs, row.dueAtMs);
    this.#fresh.push({ ref, row });
  }

  /** Ends the fan-out in flight. */
  offerFresh(): void {
    for (const { ref, row } of this.#fresh.splice(0)) this.#offer(ref, row);
  }

  poll(): void {
    if (!this.scheduler.canPoll) return;
    const { webhookIds, workspaceIds } = this.scheduler.excluded();
    const due = refs
      .filter(({ webhookId, workspaceId }) => {
        const { nextDueAtMs = Number.POSITIVE_INFINITY } = this.#of(webhookId);
        return nextDueAtMs <= this.nowMs && !webhookIds.includes(webhookId) && !workspaceIds.includes(workspaceId);
      })
      .sort((a, b) => (this.#of(a.webhookId).nextDueAtMs ?? 0) - (this.#of(b.webhookId).nextDueAtMs ?? 0));
    this.scheduler.found(due.slice(0, limits.webhooksPerLease));
  }

  /** Begins a refill, unless one is in flight. */
  beginRefill(): void {
    if (this.#refills.length === 0) this.#refills = this.scheduler.next();
  }

  /** Ends the refill in flight. */
  endRefill(): void {
    const refills = this.#refills;
    this.#refills = [];
    const leased = refills.map((refill) => this.#lease(refill));
    const results = leased.map(({ result }) => result);
    this.#proceed(this.scheduler.refilled(refills, results));
    for (const { ref, rows } of leased) for (const row of rows) this.#offer(ref, row);
  }

  /** Ends the refill in flight, and makes the next ones until nothing can start. */
  refill(): void {
    this.offerFresh();
    this.endRefill();
    const most = 10 * (1 + this.queued);
    for (let count = 0; ; count += 1) {
      this.beginRefill();
      if (this.#refills.length === 0) return;
      if (count > most) throw new Error('deliveries are leased and released again without end');
      this.endRefill();
    }
  }

  finish(index: number, health: 'arrived' | 'failing' | 'slow'): void {
    const [attempt] = this.inFlight.splice(index % this.inFlight.length, 1);
    if (!attempt) return;
    const { webhookId } = attempt.endpoint;
    const stored = this.#of(webhookId);
    const outcome =
      health === 'slow'
        ? { durationMs: 10_000, health: 'arrived' as const }
        : { durationMs: 5, health: health as 'arrived' | 'failing' };
    const { change, ...next } = this.scheduler.finish(attempt, outcome);
    this.#proceed(next);
    const row = stored.rows.find(({ id }) => id === attempt.id);
    if (row && health === 'failing') {
      row.dueAtMs = this.nowMs + 1_000;
      if (stored.pauseMs === 0) stored.nextDueAtMs = Math.min(stored.nextDueAtMs ?? row.dueAtMs, row.dueAtMs);
    } else if (row) stored.rows.splice(stored.rows.indexOf(row), 1);
    if (!change) return;
    if (change.pauses) stored.nextDueAtMs = this.nowMs + jittered(change.pauseMs, limits.jitter, 0.5);
    else if (stored.pauseMs > 0 && change.pauseMs === 0) stored.nextDueAtMs = this.nowMs;
    stored.pauseMs = change.pauseMs;
    stored.concurrency = change.concurrency;
  }

  /** Lets time pass. Attempts time out before their leases expire. */
  wait(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let timedOut = this.#timingOut(endMs); timedOut >= 0; timedOut = this.#timingOut(endMs)) {
      this.nowMs = Math.max(this.nowMs, (this.inFlight[timedOut]?.startedAtMs ?? 0) + attemptTimeoutMs);
      this.finish(timedOut, 'failing');
    }
    this.nowMs = endMs;
  }

  /** Kills the instance. Its deliveries are due again when their leases expire. */
  restart(): void {
    this.scheduler = new schedulers[this.#kind]<Started>(limits);
    this.#refills = [];
    this.#fresh.length = 0;
    this.inFlight = [];
  }

  get queued(): number {
    return [...this.stored.values()].reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** Returns the index of an attempt that times out before a time; -1: none. */
  #timingOut(beforeMs: number): number {
    return this.inFlight.findIndex(({ startedAtMs }) => startedAtMs + attemptTimeoutMs <= beforeMs);
  }

  #of(webhookId: string): Stored {
    const stored = this.stored.get(webhookId);
    if (!stored) throw new Error(`no webhook ${webhookId}`);
    return stored;
  }

  /** Leases as leaseFor() does. */
  #lease({ webhookId, deliveries, isKnown }: Refill): { ref: EndpointRef; rows: Row[]; result: Refilled } {
    const stored = this.#of(webhookId);
    const ref = refs.find((one) => one.webhookId === webhookId) as EndpointRef;
    const isDue = (stored.nextDueAtMs ?? Number.POSITIVE_INFINITY) <= this.nowMs;
    const concurrency = isKnown ? deliveries : (stored.concurrency ?? deliveries);
    const most = isDue ? (stored.pauseMs > 0 ? 1 : Math.min(deliveries, concurrency)) : 0;
    const rows = stored.rows.filter(({ dueAtMs }) => dueAtMs <= this.nowMs).slice(0, most);
    for (const row of rows) row.dueAtMs = this.nowMs + leaseMs;
    if (isDue) {
      const earliest = Math.min(...stored.rows.map(({ dueAtMs }) => dueAtMs));
      const next = stored.pauseMs > 0 && rows.length > 0 ? this.nowMs + leaseMs : earliest;
      stored.nextDueAtMs = Number.isFinite(next) ? next : undefined;
    }
    const hasMore = stored.pauseMs === 0 && (stored.nextDueAtMs ?? Number.POSITIVE_INFINITY) <= this.nowMs;
    const state = { pauseMs: stored.pauseMs, concurrency: stored.concurrency };
    return { ref, rows, result: { webhookId, leased: rows.length, hasMore, state } };
  }

  #offer(endpoint: EndpointRef, { id }: Row): void {
    const stored = this.#of(endpoint.webhookId);
    const maxConcurrency = limits.attemptsOfWebhook;
    const attempt = { id, endpoint, maxConcurrency, bytes: 10, wasOpen: stored.pauseMs > 0, startedAtMs: this.nowMs };
    const taken = this.scheduler.offer(attempt);
    if (taken === 'start') this.#start(attempt);
    else if (taken === 'full') this.#release(stored, id);
  }

  #proceed({ start, release }: Next<Started>): void {
    for (const next of start) this.#start(next);
    for (const { id, endpoint } of release) this.#release(this.#of(endpoint.webhookId), id);
  }

  #start(attempt: Started): void {
    attempt.startedAtMs = this.nowMs;
    this.inFlight.push(attempt);
  }

  #release(stored: Stored, id: string): void {
    const row = stored.rows.find((one) => one.id === id);
    if (row) row.dueAtMs = this.nowMs;
    if (stored.pauseMs === 0) stored.nextDueAtMs = Math.min(stored.nextDueAtMs ?? this.nowMs, this.nowMs);
  }
}
