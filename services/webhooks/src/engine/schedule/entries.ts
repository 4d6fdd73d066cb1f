import { FairCache } from '@rms/async';
import { Budget } from './budget.ts';
import { Endpoint } from './endpoint.ts';
import type { Limits } from './limits.ts';
import { type Part, partOfLimit } from './part.ts';

/** A webhook and its workspace, whose limits it shares. */
export interface EndpointRef {
  readonly webhookId: string;
  readonly workspaceId: string;
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

/** An endpoint with attempts in flight or due deliveries. */
export interface Entry<A> {
  readonly ref: EndpointRef;
  readonly endpoint: Endpoint;
  /** As counted in the budget. */
  readonly sharer: { workspaceId: string; failing: boolean };
  /** Deliveries leased ahead; they start as attempts in flight end. */
  readonly ahead: A[];
  /** Whether it has due deliveries that are not leased. */
  isDue: boolean;
  /** Whether deliveries were stored after the refill in flight was requested; it may not see them. */
  storedMeanwhile: boolean;
}

/** The endpoints of this instance, and their attempts as counted in its budget. */
export class Entries<A> {
  readonly #limits: Limits;
  readonly budget: Budget;
  readonly #entries = new Map<string, Entry<A>>();
  /** Notable endpoints without an entry. */
  readonly #known: FairCache<Endpoint>;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.budget = new Budget(limits);
    this.#known = new FairCache({ max: limits.endpointsKept });
  }

  [Symbol.iterator](): IterableIterator<[webhookId: string, entry: Entry<A>]> {
    return this.#entries[Symbol.iterator]();
  }

  get(webhookId: string): Entry<A> | undefined {
    return this.#entries.get(webhookId);
  }

  /** Returns an endpoint with an entry, or a notable one without. */
  endpointOf(webhookId: string): Endpoint | undefined {
    return this.#entries.get(webhookId)?.endpoint ?? this.#known.peek(webhookId);
  }

  /** Returns the entry of an endpoint; creates a missing one. */
  of(ref: EndpointRef, part: Part): Entry<A> {
    const { webhookId, workspaceId } = ref;
    const present = this.#entries.get(webhookId);
    if (present) return present;
    const endpoint =
      this.#known.get(webhookId) ?? new Endpoint(this.#limits, partOfLimit(this.#limits.attemptsOfWebhook, part));
    this.#known.delete(webhookId);
    const sharer = { workspaceId, failing: endpoint.failing };
    const entry: Entry<A> = { ref, endpoint, sharer, ahead: [], isDue: false, storedMeanwhile: false };
    this.#entries.set(webhookId, entry);
    return entry;
  }

  /** Adds attempts in flight, or removes them if the number is negative. */
  add(entry: Entry<A>, attempts: number): void {
    entry.endpoint.inFlight += attempts;
    this.budget.add(entry.sharer, attempts);
  }

  /** Moves the attempts of an endpoint that has started or stopped failing. */
  recount(entry: Entry<A>): void {
    const { endpoint, sharer } = entry;
    if (sharer.failing === endpoint.failing) return;
    this.budget.add(sharer, -endpoint.inFlight);
    sharer.failing = endpoint.failing;
    this.budget.add(sharer, endpoint.inFlight);
  }

  /** Removes the entry of an endpoint without attempts, leased deliveries and due deliveries. */
  forgetIfIdle({ ref: { webhookId, workspaceId }, endpoint, isDue, ahead }: Entry<A>): void {
    if (isDue || endpoint.inFlight > 0 || ahead.length > 0) return;
    this.#entries.delete(webhookId);
    if (endpoint.isNotable) this.#known.set(workspaceId, webhookId, endpoint);
  }
}
