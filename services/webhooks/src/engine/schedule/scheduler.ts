import type { Change, Outcome, SharedState } from './endpoint.ts';
import { type Attempt, type EndpointRef, Entries, type Entry } from './entries.ts';
import { type Limits, type Part, partOfLimit } from './limits.ts';

/** A request to lease due deliveries of a webhook. */
export interface Refill {
  readonly webhookId: string;
  /** Maximum number of deliveries. */
  readonly deliveries: number;
  /** How many of them may start immediately; these attempts are reserved. */
  readonly attempts: number;
  /** Whether this instance has attempts in flight at the endpoint, or remembers slow or failed ones. */
  readonly isKnown: boolean;
}

/** A refill's result. */
export interface Refilled {
  readonly webhookId: string;
  /** Number of leased deliveries. */
  readonly leased: number;
  /** Whether more deliveries are due. */
  readonly hasMore: boolean;
  readonly state: SharedState;
}

/** The next steps for deliveries that were leased ahead. */
export interface Next<A> {
  /** Attempts to start now. */
  readonly start: A[];
  /** Attempts that will not be made here. Their leases must be released. */
  readonly release: A[];
}

/** The consequences of an attempt's end. */
export interface Finished<A> extends Next<A> {
  /** Change of the endpoint's shared state, if any. */
  readonly change: Change | undefined;
}

/** How many deliveries fan-out may lease. */
export interface Capacity {
  /** Deliveries of all webhooks together. */
  readonly total: number;
  /** Deliveries per workspace with attempts in flight. */
  readonly ofWorkspaces: ReadonlyMap<string, number>;
  /** Deliveries of every other workspace. */
  readonly ofOtherWorkspaces: number;
  /** Deliveries per webhook with attempts in flight or due deliveries at this instance. */
  readonly ofWebhooks: ReadonlyMap<string, number>;
  /** This instance's part of `max_concurrency`, the limit of every other webhook. */
  readonly part: Part;
}

/** Webhooks and workspaces that a poll skips. */
export interface Excluded {
  readonly webhookIds: string[];
  readonly workspaceIds: string[];
}

/** Statistics for metrics. */
export interface SchedulerStats {
  readonly inFlight: number;
  /** Deliveries that are leased ahead. */
  readonly ahead: number;
  readonly bytes: number;
  /** Webhooks with due deliveries that wait because the webhook has reached its concurrency limit. */
  readonly heldByWebhook: number;
  /** Other webhooks with due deliveries; they wait for a limit of their workspace or the instance. */
  readonly heldByWorkspace: number;
  /** IDs of both. */
  readonly throttled: readonly string[];
}

/**
 * Decides which attempts this instance may start, without I/O and without a clock. Deliveries are leased when they can
 * start; a fast endpoint may have a few leased ahead. Webhooks with due deliveries are served round-robin.
 */
export class Scheduler<A extends Attempt> {
  readonly #limits: Limits;
  readonly #entries: Entries<A>;
  /** Webhooks with due deliveries, the next one first. */
  readonly #due = new Set<string>();
  #bytes = 0;
  #part: Part = { rank: 0, count: 1 };

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#entries = new Entries(limits);
  }

  /** Sets the part of this instance. Takes effect per endpoint with the next delivery that is leased for it. */
  set part(part: Part) {
    this.#part = part;
  }

  /**
   * Returns how many deliveries fan-out may lease: as attempts that start immediately, or ahead. The capacity of a
   * webhook with due deliveries is 0, because these come first.
   */
  capacity(): Capacity {
    const ofWebhooks = new Map<string, number>();
    for (const [id, entry] of this.#entries) {
      const { endpoint, ahead, isDue } = entry;
      ofWebhooks.set(id, isDue ? 0 : endpoint.free + Math.max(0, this.#mostAhead(entry) - ahead.length));
    }
    const total =
      this.#bytes < this.#limits.bytes ? Math.max(0, this.#limits.attempts - this.#entries.budget.attempts) : 0;
    return {
      total,
      ofWorkspaces: this.#entries.budget.freeByWorkspace(),
      ofOtherWorkspaces: this.#limits.attemptsOfWorkspace,
      ofWebhooks,
      part: this.#part,
    };
  }

  /**
   * Takes a leased delivery. 'start': it must be attempted now. 'wait': it starts when an attempt at its endpoint ends.
   * 'full': the limits do not allow it, and its lease must be released.
   */
  offer(attempt: A): 'start' | 'wait' | 'full' {
    const { endpoint: ref, maxConcurrency, bytes } = attempt;
    const entry = this.#entries.of(ref, this.#part);
    entry.endpoint.most = partOfLimit(maxConcurrency, this.#part);
    if (entry.ahead.length === 0 && this.#free(entry) > 0) {
      this.#bytes += bytes;
      this.#start(entry, attempt);
      return 'start';
    }
    // The end of an attempt or of a refill starts the next one.
    if (entry.endpoint.inFlight > 0 && entry.ahead.length < this.#mostAhead(entry)) {
      this.#bytes += bytes;
      entry.ahead.push(attempt);
      return 'wait';
    }
    this.#entries.forgetIfIdle(entry);
    return 'full';
  }

  /** Notes the end of an attempt. */
  finish({ id, endpoint: ref, bytes }: A, outcome: Outcome): Finished<A> {
    const entry = this.#entries.of(ref, this.#part);
    const change = entry.endpoint.finish(id, outcome);
    this.#bytes -= bytes;
    this.#entries.add(entry, -1);
    this.#entries.recount(entry);
    const next = this.#advance(entry);
    this.#entries.forgetIfIdle(entry);
    return { change, ...next };
  }

  /** Removes and returns the deliveries that are leased ahead. */
  drain(): A[] {
    return [...this.#entries].flatMap(([, entry]) => this.#takeAhead(entry));
  }

  /** Whether the last attempt at a webhook was slow or failed. */
  isFailing(webhookId: string): boolean {
    return this.#entries.endpointOf(webhookId)?.failing === true;
  }

  /** Whether a webhook's circuit is open, according to this instance. */
  isOpen(webhookId: string): boolean {
    return this.#entries.endpointOf(webhookId)?.isOpen === true;
  }

  /**
   * Adds due webhooks, the next one first. Ignores webhooks of a workspace that has as many due webhooks here
   * as it may start attempts. If too many webhooks wait, one of the workspace with the most leaves; a later poll finds it
   * again. A few workspaces that are at their limits therefore never keep out the webhooks of others.
   */
  found(webhooks: readonly EndpointRef[]): void {
    const waiting = this.#waitingByWorkspace();
    for (const ref of webhooks) {
      const own = waiting.get(ref.workspaceId) ?? [];
      if (own.length >= this.#entries.budget.freeOfWorkspace(ref.workspaceId)) continue;
      if (this.#due.size >= this.#limits.waiting && !this.#makeRoom(waiting, own.length)) continue;
      own.push(ref.webhookId);
      waiting.set(ref.workspaceId, own);
      this.#setDue(this.#entries.of(ref, this.#part), true);
    }
  }

  /** Notes that webhooks have due deliveries. Returns whether this instance needs a poll to lease them. */
  stored(webhookIds: readonly string[]): boolean {
    let needsPoll = false;
    for (const id of webhookIds) {
      const entry = this.#entries.get(id);
      if (!entry) {
        needsPoll = true;
        continue;
      }
      entry.storedMeanwhile = true;
      this.#setDue(entry, true);
    }
    return needsPoll;
  }

  /**
   * Returns the next refills, and reserves their attempts until {@link refilled}. A webhook that gets a refill has its
   * next turn after the others. A webhook that gets none keeps its turn.
   * @param blocked webhooks that get no refill, and are not due until a poll finds them again
   */
  next(blocked: readonly string[] = []): Refill[] {
    for (const id of blocked) {
      const entry = this.#entries.get(id);
      if (!entry) continue;
      this.#setDue(entry, false);
      this.#entries.forgetIfIdle(entry);
    }
    const refills: Refill[] = [];
    let deliveries = this.#bytes < this.#limits.bytes ? this.#limits.deliveriesPerLease : 0;
    for (const id of [...this.#due]) {
      if (deliveries === 0 || refills.length === this.#limits.webhooksPerLease) break;
      const entry = this.#entries.get(id);
      if (!entry) continue;
      const mostAhead = this.#mostAhead(entry);
      if (entry.ahead.length > entry.endpoint.most) continue;
      const attempts = Math.min(this.#free(entry), deliveries);
      // Deliveries are not leased ahead while a shared limit bounds the endpoint, because other webhooks may wait for
      // it.
      const isShared = this.#entries.budget.free(entry.sharer) < entry.endpoint.free;
      const ahead = isShared ? 0 : Math.min(mostAhead - entry.ahead.length, deliveries - attempts);
      if (attempts + ahead === 0) continue;
      const isKnown = entry.endpoint.inFlight > 0 || entry.endpoint.isNotable;
      this.#due.delete(id);
      this.#due.add(id);
      entry.storedMeanwhile = false;
      this.#entries.add(entry, attempts);
      deliveries -= attempts + ahead;
      refills.push({ webhookId: id, deliveries: attempts + ahead, attempts, isKnown });
    }
    return refills;
  }

  /** Notes the results of refills. The leased deliveries must be offered afterwards. */
  refilled(refills: readonly Refill[], results: readonly Refilled[]): Next<A> {
    const next: Next<A> = { start: [], release: [] };
    const resultOf = new Map(results.map((result) => [result.webhookId, result]));
    for (const { webhookId, deliveries, attempts } of refills) {
      const entry = this.#entries.get(webhookId);
      if (!entry) continue;
      this.#entries.add(entry, -attempts);
      const result = resultOf.get(webhookId);
      if (result) entry.endpoint.refresh(result.state);
      this.#entries.recount(entry);
      // If fewer were leased than requested and allowed, the others are locked, or they wait for a rate limit. A poll
      // finds them.
      const leased = result?.leased ?? 0;
      const tookAllAllowed = leased > 0 && leased >= Math.min(deliveries, entry.endpoint.free);
      this.#setDue(entry, (result?.hasMore === true && tookAllAllowed) || entry.storedMeanwhile);
      // Deliveries that were offered during the refill wait for the attempts that it had reserved.
      const { start, release } = this.#advance(entry);
      next.start.push(...start);
      next.release.push(...release);
      this.#entries.forgetIfIdle(entry);
    }
    return next;
  }

  /** Whether this instance can take more due webhooks. */
  get canPoll(): boolean {
    const { waiting, bytes, attempts } = this.#limits;
    if (this.#bytes >= bytes || this.#entries.budget.attempts >= attempts) return false;
    return this.#due.size < waiting || mostOf(this.#waitingByWorkspace()) > 1;
  }

  /** Returns the webhooks with deliveries that cannot be leased now or that are already known to be due. */
  excluded(): Excluded {
    const webhookIds: string[] = [];
    for (const [id, { endpoint, isDue }] of this.#entries) if (isDue || endpoint.free === 0) webhookIds.push(id);
    const waiting = this.#waitingByWorkspace();
    const workspaceIds = new Set<string>();
    for (const [id, free] of this.#entries.budget.freeByWorkspace())
      if ((waiting.get(id)?.length ?? 0) >= free) workspaceIds.add(id);
    if (this.#due.size >= this.#limits.waiting) {
      const most = mostOf(waiting);
      for (const [id, { length }] of waiting) if (!mayGain(length, most)) workspaceIds.add(id);
    }
    return { webhookIds, workspaceIds: [...workspaceIds] };
  }

  stats(): SchedulerStats {
    let heldByWebhook = 0;
    for (const id of this.#due) if (this.#entries.get(id)?.endpoint.free === 0) heldByWebhook += 1;
    return {
      inFlight: this.#entries.budget.attempts,
      ahead: [...this.#entries].reduce((sum, [, { ahead }]) => sum + ahead.length, 0),
      bytes: this.#bytes,
      heldByWebhook,
      heldByWorkspace: this.#due.size - heldByWebhook,
      throttled: [...this.#due],
    };
  }

  /** Returns how many more attempts at an endpoint may start now. */
  #free({ endpoint, sharer }: Entry<A>): number {
    return Math.min(endpoint.free, this.#entries.budget.free(sharer));
  }

  /** Returns how many deliveries of an endpoint may be leased ahead. */
  #mostAhead({ endpoint }: Entry<A>): number {
    return endpoint.isFast ? endpoint.most * this.#limits.aheadPerAttempt : 0;
  }

  #start(entry: Entry<A>, { id }: A): void {
    entry.endpoint.start(id);
    this.#entries.add(entry, 1);
  }

  /** Starts deliveries that are leased ahead, and releases those that no end of an attempt would start. */
  #advance(entry: Entry<A>): Next<A> {
    const { endpoint, ahead } = entry;
    const start = endpoint.isFast ? ahead.splice(0, this.#free(entry)) : [];
    for (const next of start) this.#start(entry, next);
    const release = endpoint.isFast && endpoint.inFlight > 0 ? [] : this.#takeAhead(entry);
    if (release.length > 0) this.#setDue(entry, true);
    return { start, release };
  }

  #takeAhead(entry: Entry<A>): A[] {
    const ahead = entry.ahead.splice(0);
    for (const { bytes } of ahead) this.#bytes -= bytes;
    return ahead;
  }

  #setDue(entry: Entry<A>, isDue: boolean): void {
    entry.isDue = isDue;
    if (isDue) this.#due.add(entry.ref.webhookId);
    else this.#due.delete(entry.ref.webhookId);
  }

  /** Returns the due webhooks of each workspace, the next one first. */
  #waitingByWorkspace(): Map<string, string[]> {
    const waiting = new Map<string, string[]>();
    for (const id of this.#due) {
      const workspaceId = this.#entries.get(id)?.ref.workspaceId ?? '';
      const own = waiting.get(workspaceId);
      if (own) own.push(id);
      else waiting.set(workspaceId, [id]);
    }
    return waiting;
  }

  /**
   * Removes the last due webhook of the workspace with the most, for a workspace with `count`. Returns false if that
   * would only exchange their places.
   */
  #makeRoom(waiting: ReadonlyMap<string, string[]>, count: number): boolean {
    const most = mostOf(waiting);
    if (!mayGain(count, most)) return false;
    const id = [...waiting.values()].find(({ length }) => length === most)?.pop();
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (!entry) return false;
    this.#setDue(entry, false);
    this.#entries.forgetIfIdle(entry);
    return true;
  }
}

/** Returns the largest number of webhooks of a workspace. */
function mostOf(waiting: ReadonlyMap<string, readonly string[]>): number {
  return Math.max(0, ...[...waiting.values()].map(({ length }) => length));
}

/** Whether a workspace with `count` waiting webhooks may replace a webhook of the workspace with `most`. */
function mayGain(count: number, most: number): boolean {
  return count + 1 < most;
}
