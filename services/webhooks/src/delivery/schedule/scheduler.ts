import { LRUCache } from 'lru-cache';
import { Budget } from './budget.ts';
import { type Change, Endpoint, type Outcome, type SharedState } from './endpoint.ts';
import type { Limits } from './limits.ts';
import { type Part, partOfLimit } from './part.ts';

/** A webhook and the limits that it shares with others. */
export interface EndpointRef {
  readonly webhookId: string;
  readonly workspaceId: string;
  readonly url: string;
}

/** An attempt. */
export interface Attempt {
  readonly id: string;
  readonly endpoint: EndpointRef;
  /** Maximum number of concurrent attempts at the endpoint, for all instances together. */
  readonly maxConcurrency: number;
  /** Size of the body in bytes. */
  readonly bytes: number;
}

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

/** The result of a refill. */
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

/** The consequences of the end of an attempt. */
export interface Finished<A> extends Next<A> {
  /** The change of the endpoint's shared state, if any. */
  readonly change: Change | undefined;
}

/** How many deliveries fan-out may lease. */
export interface Capacity {
  /** Of all webhooks together. */
  readonly total: number;
  /** Of each workspace with attempts in flight. */
  readonly ofWorkspaces: ReadonlyMap<string, number>;
  /** Of each other workspace. */
  readonly ofOtherWorkspaces: number;
  /** Of each webhook with attempts in flight or due deliveries at this instance. */
  readonly ofWebhooks: ReadonlyMap<string, number>;
  /** This instance's part of `max_concurrency`, which limits each other webhook. */
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
  /** Other webhooks with due deliveries; they wait for a limit of their host, their workspace or the instance. */
  readonly heldByWorkspace: number;
  /** IDs of both. */
  readonly throttled: readonly string[];
}

/** An endpoint with attempts in flight or due deliveries. */
interface Entry<A> {
  readonly ref: EndpointRef;
  readonly endpoint: Endpoint;
  /** As counted in the budget. */
  readonly sharer: { workspaceId: string; host: string; failing: boolean };
  /** Deliveries leased ahead; they start as attempts in flight end. */
  readonly ahead: A[];
  /** Whether it has due deliveries that are not leased. */
  isDue: boolean;
  /** Whether deliveries were stored after the refill in flight was requested; it may not see them. */
  storedMeanwhile: boolean;
}

/**
 * Decides which attempts this instance may start, without I/O and without a clock. Deliveries are leased when they can
 * start; a fast endpoint may have a few leased ahead. Webhooks with due deliveries take turns.
 */
export class Scheduler<A extends Attempt> {
  readonly #limits: Limits;
  readonly #budget: Budget;
  readonly #entries = new Map<string, Entry<A>>();
  /** Webhooks with due deliveries, in the order of their turns. */
  readonly #due = new Set<string>();
  /** Notable endpoints without an entry. */
  readonly #known: LRUCache<string, Endpoint>;
  #bytes = 0;
  #part: Part = { rank: 0, count: 1 };

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#budget = new Budget(limits);
    this.#known = new LRUCache({ max: limits.endpointsKept });
  }

  /** Sets the part of this instance. Takes effect for each endpoint with the next delivery that is leased for it. */
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
    const total = this.#bytes < this.#limits.bytes ? Math.max(0, this.#limits.attempts - this.#budget.attempts) : 0;
    return {
      total,
      ofWorkspaces: this.#budget.freeByWorkspace(),
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
    const entry = this.#entryOf(ref);
    this.#move(entry, ref);
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
    this.#forgetIfIdle(entry);
    return 'full';
  }

  /** Notes the end of an attempt. */
  finish({ id, endpoint: ref, bytes }: A, outcome: Outcome): Finished<A> {
    const entry = this.#entryOf(ref);
    const change = entry.endpoint.finish(id, outcome);
    this.#bytes -= bytes;
    this.#add(entry, -1);
    this.#recount(entry);
    const next = this.#advance(entry);
    this.#forgetIfIdle(entry);
    return { change, ...next };
  }

  /** Removes and returns the deliveries that are leased ahead. */
  drain(): A[] {
    return [...this.#entries.values()].flatMap((entry) => this.#takeAhead(entry));
  }

  /** Whether the last attempt at a webhook was slow or failed. */
  isFailing(webhookId: string): boolean {
    return this.#endpointOf(webhookId)?.failing === true;
  }

  /** Whether the circuit of a webhook is open, according to this instance. */
  isOpen(webhookId: string): boolean {
    return this.#endpointOf(webhookId)?.isOpen === true;
  }

  /**
   * Notes due webhooks, in the order of their turns. Ignores webhooks of a workspace that already has as many due
   * webhooks here as it may start attempts.
   */
  found(webhooks: readonly EndpointRef[]): void {
    const waiting = this.#waitingByWorkspace();
    for (const ref of webhooks) {
      const count = waiting.get(ref.workspaceId) ?? 0;
      if (count >= this.#budget.freeOfWorkspace(ref.workspaceId)) continue;
      waiting.set(ref.workspaceId, count + 1);
      this.#setDue(this.#entryOf(ref), true);
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
      this.#forgetIfIdle(entry);
    }
    const refills: Refill[] = [];
    let deliveries = this.#bytes < this.#limits.bytes ? this.#limits.deliveriesPerLease : 0;
    for (const id of [...this.#due]) {
      if (deliveries === 0 || refills.length === this.#limits.webhooksPerLease) break;
      const entry = this.#entries.get(id);
      if (!entry) continue;
      const mostAhead = this.#mostAhead(entry);
      if (entry.ahead.length > mostAhead * this.#limits.aheadAtRefill) continue;
      const attempts = Math.min(this.#free(entry), deliveries);
      // Nothing is leased ahead while a shared limit bounds the endpoint, because other webhooks may wait for it.
      const isShared = this.#budget.free(entry.sharer) < entry.endpoint.free;
      const ahead = isShared ? 0 : Math.min(mostAhead - entry.ahead.length, deliveries - attempts);
      if (attempts + ahead === 0) continue;
      const isKnown = entry.endpoint.inFlight > 0 || entry.endpoint.isNotable;
      this.#due.delete(id);
      this.#due.add(id);
      entry.storedMeanwhile = false;
      this.#add(entry, attempts);
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
      this.#add(entry, -attempts);
      const result = resultOf.get(webhookId);
      if (result) entry.endpoint.refresh(result.state);
      this.#recount(entry);
      // If fewer were leased than requested and allowed, the others are locked, or they wait for a rate limit. A poll
      // finds them.
      const leased = result?.leased ?? 0;
      const tookAllAllowed = leased > 0 && leased >= Math.min(deliveries, entry.endpoint.free);
      this.#setDue(entry, (result?.hasMore === true && tookAllAllowed) || entry.storedMeanwhile);
      // Deliveries that were offered during the refill wait for the attempts that it had reserved.
      const { start, release } = this.#advance(entry);
      next.start.push(...start);
      next.release.push(...release);
      this.#forgetIfIdle(entry);
    }
    return next;
  }

  /** Whether this instance can take more due webhooks. */
  get canPoll(): boolean {
    const { waiting, bytes, attempts } = this.#limits;
    return this.#due.size < waiting && this.#bytes < bytes && this.#budget.attempts < attempts;
  }

  /** Returns the webhooks whose deliveries cannot be leased now or that are already known to be due. */
  excluded(): Excluded {
    const webhookIds: string[] = [];
    for (const [id, { endpoint, isDue }] of this.#entries) if (isDue || endpoint.free === 0) webhookIds.push(id);
    const waiting = this.#waitingByWorkspace();
    const workspaceIds: string[] = [];
    for (const [id, free] of this.#budget.freeByWorkspace()) if ((waiting.get(id) ?? 0) >= free) workspaceIds.push(id);
    return { webhookIds, workspaceIds };
  }

  stats(): SchedulerStats {
    let heldByWebhook = 0;
    for (const id of this.#due) if (this.#entries.get(id)?.endpoint.free === 0) heldByWebhook += 1;
    return {
      inFlight: this.#budget.attempts,
      ahead: [...this.#entries.values()].reduce((sum, { ahead }) => sum + ahead.length, 0),
      bytes: this.#bytes,
      heldByWebhook,
      heldByWorkspace: this.#due.size - heldByWebhook,
      throttled: [...this.#due],
    };
  }

  #endpointOf(webhookId: string): Endpoint | undefined {
    return this.#entries.get(webhookId)?.endpoint ?? this.#known.peek(webhookId);
  }

  #entryOf(ref: EndpointRef): Entry<A> {
    const { webhookId, workspaceId, url } = ref;
    const present = this.#entries.get(webhookId);
    if (present) return present;
    const endpoint =
      this.#known.get(webhookId) ?? new Endpoint(this.#limits, partOfLimit(this.#limits.attemptsOfWebhook, this.#part));
    this.#known.delete(webhookId);
    const sharer = { workspaceId, host: hostOf(url), failing: endpoint.failing };
    const entry: Entry<A> = { ref, endpoint, sharer, ahead: [], isDue: false, storedMeanwhile: false };
    this.#entries.set(webhookId, entry);
    return entry;
  }

  /** Returns how many more attempts at an endpoint may start now. */
  #free({ endpoint, sharer }: Entry<A>): number {
    return Math.min(endpoint.free, this.#budget.free(sharer));
  }

  /** Returns how many deliveries of an endpoint may be leased ahead. */
  #mostAhead({ endpoint }: Entry<A>): number {
    return endpoint.isFast ? endpoint.most * this.#limits.aheadPerAttempt : 0;
  }

  #start(entry: Entry<A>, { id }: A): void {
    entry.endpoint.start(id);
    this.#add(entry, 1);
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

  #add(entry: Entry<A>, attempts: number): void {
    entry.endpoint.inFlight += attempts;
    this.#budget.add(entry.sharer, attempts);
  }

  /** Moves the attempts of an endpoint that has started or stopped failing. */
  #recount(entry: Entry<A>): void {
    const { endpoint, sharer } = entry;
    if (sharer.failing === endpoint.failing) return;
    this.#budget.add(sharer, -endpoint.inFlight);
    sharer.failing = endpoint.failing;
    this.#budget.add(sharer, endpoint.inFlight);
  }

  /** Moves the attempts of an endpoint whose URL has changed to its new host. */
  #move(entry: Entry<A>, { url }: EndpointRef): void {
    if (entry.ref.url === url) return;
    this.#budget.add(entry.sharer, -entry.endpoint.inFlight);
    Object.assign(entry, { ref: { ...entry.ref, url } });
    entry.sharer.host = hostOf(url);
    this.#budget.add(entry.sharer, entry.endpoint.inFlight);
  }

  #setDue(entry: Entry<A>, isDue: boolean): void {
    entry.isDue = isDue;
    if (isDue) this.#due.add(entry.ref.webhookId);
    else this.#due.delete(entry.ref.webhookId);
  }

  /** Removes the entry of an endpoint without attempts, leased deliveries and due deliveries. */
  #forgetIfIdle({ ref: { webhookId }, endpoint, isDue, ahead }: Entry<A>): void {
    if (isDue || endpoint.inFlight > 0 || ahead.length > 0) return;
    this.#entries.delete(webhookId);
    if (endpoint.isNotable) this.#known.set(webhookId, endpoint);
  }

  #waitingByWorkspace(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const id of this.#due) {
      const workspaceId = this.#entries.get(id)?.ref.workspaceId ?? '';
      counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1);
    }
    return counts;
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
