import { FairCache } from '@rms/async';
import { Endpoint } from './endpoint.ts';
import { type Limits, type Part, partOfLimit } from './limits.ts';

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

/** The attempts that share a limit. */
interface Load {
  attempts: number;
  /** Attempts at endpoints with a slow or failed last attempt; included in `attempts`. */
  atFailing: number;
}

/** An endpoint as counted in the shared limits. */
interface Sharer {
  readonly workspaceId: string;
  readonly failing: boolean;
}

const none: Readonly<Load> = { attempts: 0, atFailing: 0 };

/**
 * Counts the attempts in flight of this instance and of each workspace. Endpoints with a slow or failed last attempt
 * may together use half of each limit. The other half remains for the others.
 */
class Budget {
  readonly #limits: Limits;
  /** Per workspace; the empty key is the instance. */
  readonly #loads = new Map<string, Load>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Attempts in flight. */
  get attempts(): number {
    return this.#load('').attempts;
  }

  /** Returns how many more attempts at an endpoint the shared limits allow. */
  free({ workspaceId, failing }: Sharer): number {
    const { attempts, attemptsOfWorkspace } = this.#limits;
    return Math.min(this.#free('', attempts, failing), this.#free(workspaceId, attemptsOfWorkspace, failing));
  }

  /** Returns how many more attempts a workspace may have in flight. */
  freeOfWorkspace(workspaceId: string): number {
    return this.free({ workspaceId, failing: false });
  }

  /** Returns how many more attempts each workspace with attempts in flight may start. */
  freeByWorkspace(): Map<string, number> {
    const ids = [...this.#loads.keys()].filter((key) => key !== '');
    return new Map(ids.map((id) => [id, this.freeOfWorkspace(id)]));
  }

  /** Adds attempts, or removes them if the number is negative. */
  add({ workspaceId, failing }: Sharer, attempts: number): void {
    for (const key of ['', workspaceId]) {
      const load = this.#loads.get(key) ?? { ...none };
      load.attempts += attempts;
      if (failing) load.atFailing += attempts;
      if (load.attempts === 0) this.#loads.delete(key);
      else this.#loads.set(key, load);
    }
  }

  #load(key: string): Readonly<Load> {
    return this.#loads.get(key) ?? none;
  }

  #free(key: string, most: number, failing: boolean): number {
    const { attempts, atFailing } = this.#load(key);
    const free = Math.max(0, most - attempts);
    return failing ? Math.max(0, Math.min(free, Math.ceil(most * this.#limits.partOfFailing) - atFailing)) : free;
  }
}
