import { LRUCache } from 'lru-cache';
import { type Census, censusOf } from './census.ts';
import { Circuit } from './circuit.ts';
import type { Earned, EndpointQueue, Next, Openings, Outcome, Places } from './endpoint-queue.ts';
import type { DeliveryJob } from './job.ts';
import { type QueueLimits, Shares } from './shares.ts';
import { Turns } from './turns.ts';

/** Jobs that may wait for each attempt that may be under way; of an endpoint that fails, one. */
const waitingPerSlot = 16;
/** An endpoint that takes so long is slow. */
const slowMs = 5_000;

/**
 * A queue for each webhook with a limit and a circuit of its own, so that one that answers slowly, or never, holds up its
 * own deliveries only; and a share for each workspace. A slow or failing attempt halves the limit of its webhook, down to
 * one at a time; a quick one raises it by one, so that an endpoint that recovers is not overrun.
 */
export class EndpointQueues {
  readonly #limits: QueueLimits;
  readonly #now: () => number;
  readonly #shares: Shares;
  readonly #queues = new Map<string, EndpointQueue>();
  /** Webhooks that could go on, had their workspace more of what all share. */
  readonly #held = new Turns();
  /** Webhooks whose circuit is not closed. */
  readonly #tripped = new Set<string>();
  /** What endpoints have earned, kept while nothing of theirs is here. */
  readonly #known = new LRUCache<string, Earned>({ max: 10_000 });
  /** What the bodies of all jobs take. */
  bytes = 0;

  constructor(limits: QueueLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#shares = new Shares(limits);
  }

  /** Jobs under way and waiting, all webhooks together. */
  get size(): number {
    return this.#shares.jobs;
  }

  /** 'start': attempt it now, and say when it is finished. 'full': it was not taken. */
  offer(job: DeliveryJob): 'start' | 'queued' | 'full' {
    const queue = this.#queueOf(job);
    if (queue.waiting.length === 0 && this.#slots(queue) > 0) {
      this.bytes += job.body.length;
      this.#begin(queue, 1);
      return 'start';
    }
    if (this.#waitingPlaces(queue) < 1) {
      queue.overflowed = true;
      this.#restIfEmpty(job.webhookId, queue);
      return 'full';
    }
    queue.waiting.push(job);
    this.bytes += job.body.length;
    this.#shares.count(job.workspaceId, { waiting: 1 });
    this.#holdIfShort(job.webhookId, queue);
    return 'queued';
  }

  /** The attempt of a job is over: what to start in its place, what waits in vain, and whether there is room again. */
  finished(job: DeliveryJob, { durationMs, health }: Outcome): Next {
    const { webhookId } = job;
    const queue = this.#queueOf(job);
    this.#begin(queue, -1);
    this.bytes -= job.body.length;
    const opened = health === 'failing' && queue.circuit.failed(this.#now());
    if (opened) this.#tripped.add(webhookId);
    if (health === 'arrived' || health === 'refused') {
      queue.circuit.succeeded();
      this.#tripped.delete(webhookId);
    }
    if (health !== 'not attempted') this.#judge(queue, health === 'failing' || durationMs > slowMs);
    const giveBack = opened ? this.#takeOut(queue) : [];
    const start = [...this.#take(webhookId, queue), ...this.#takeHeld(queue.workspaceId)];
    const workspaceHasRoom = this.#shares.freed(queue.workspaceId);
    const queueHasRoom =
      queue.overflowed &&
      queue.waiting.length <= (queue.limit * waitingPerSlot) / 4 &&
      !this.#shares.isPassedOver(queue.workspaceId) &&
      this.canTake(webhookId);
    if (queueHasRoom) queue.overflowed = false;
    this.#restIfEmpty(webhookId, queue);
    const isOpen = this.#tripped.has(webhookId);
    return { start, giveBack, roomAgain: queueHasRoom || workspaceHasRoom, health, isOpen };
  }

  /** What could be taken now. */
  places(): Places {
    const ofWebhooks = new Map<string, number>();
    for (const id of [...this.#queues.keys(), ...this.#tripped]) {
      const places = this.#placesOf(id);
      if (places !== undefined) ofWebhooks.set(id, places);
    }
    return { ofWebhooks, fullWorkspaces: this.#shares.fullWorkspaces() };
  }

  /** Whether a delivery of a webhook could be taken now. If not, {@link finished} says when there is room again. */
  canTake(webhookId: string): boolean {
    return this.#placesOf(webhookId) !== 0;
  }

  /** Whether the last attempt at a webhook's endpoint was slow or failed, as far as it is here. */
  isFailing(webhookId: string): boolean {
    return this.#queues.get(webhookId)?.failing === true;
  }

  /** For fresh deliveries: of a webhook of which nothing is known as many as if its workspace had nothing here. */
  openings(): Omit<Openings, 'room'> {
    const { ofWebhooks } = this.places();
    const { inFlight } = this.#limits;
    return { ofWebhooks, ofOthers: inFlight + Math.min(inFlight * waitingPerSlot, this.#shares.waitingOfWebhook('')) };
  }

  /** Webhooks whose circuits let a probe through now. */
  probes(): string[] {
    return [...this.#tripped].filter((id) => (this.#placesOf(id) ?? 0) > 0);
  }

  /** When the first of the open circuits lets an attempt through; undefined: none is open. */
  nextProbeAtMs(): number | undefined {
    let first: number | undefined;
    for (const id of this.#tripped) {
      const circuit = (this.#queues.get(id) ?? this.#known.peek(id))?.circuit;
      if (circuit?.opensAtMs === undefined || circuit.state(this.#now()) !== 'open') continue;
      first = Math.min(first ?? circuit.opensAtMs, circuit.opensAtMs);
    }
    return first;
  }

  /** What is here, for metrics. */
  state(): Census {
    const { inFlight, jobs } = this.#shares;
    const tripped = [...this.#tripped].map((id) => [id, this.#known.peek(id)] as const);
    return { inFlight, waiting: jobs - inFlight, bytes: this.bytes, ...censusOf(this.#queues, tripped, this.#now()) };
  }

  /** Takes out all that waits. */
  drain(): DeliveryJob[] {
    return [...this.#queues.values()].flatMap((queue) => this.#takeOut(queue));
  }

  /** Further attempts that its endpoint may have now, whatever others have. */
  #slotsOfEndpoint({ limit, inFlight, circuit }: Earned & { inFlight: number }): number {
    return circuit.most(limit, this.#now()) - inFlight;
  }

  #slots(queue: Earned & { inFlight: number }): number {
    return Math.min(this.#slotsOfEndpoint(queue), this.#shares.slots(queue));
  }

  /** Further jobs that may wait. */
  #waitingPlaces({ workspaceId, limit, failing, waiting, circuit }: EndpointQueue): number {
    if (circuit.state(this.#now()) !== 'closed' || circuit.opensNext || this.#shares.isFull(workspaceId)) return 0;
    const most = failing ? limit : limit * waitingPerSlot;
    return Math.min(most, this.#shares.waitingOfWebhook(workspaceId)) - waiting.length;
  }

  /** Further jobs that a webhook can take; undefined: nothing is known of it. */
  #placesOf(webhookId: string): number | undefined {
    const queue = this.#queues.get(webhookId);
    if (queue) {
      const starting = queue.waiting.length === 0 ? Math.max(0, this.#slots(queue)) : 0;
      const places = starting + Math.max(0, this.#waitingPlaces(queue));
      if (places < 1) queue.overflowed = true;
      return places;
    }
    const known = this.#tripped.has(webhookId) ? this.#known.peek(webhookId) : undefined;
    if (!known) this.#tripped.delete(webhookId);
    // Most of what is known, and asked for with each batch of events.
    if (known?.circuit.state(this.#now()) === 'open') return 0;
    return known && Math.max(0, this.#slots({ ...known, inFlight: 0 }));
  }

  /** A slow or failing endpoint has its limit halved; another one gets one more. */
  #judge(queue: EndpointQueue, failing: boolean): void {
    queue.limit = failing ? Math.ceil(queue.limit / 2) : Math.min(queue.limit + 1, this.#limits.inFlight);
    if (queue.failing === failing) return;
    queue.failing = failing;
    this.#shares.count(queue.workspaceId, { atFailing: failing ? queue.inFlight : -queue.inFlight });
  }

  #take(webhookId: string, queue: EndpointQueue): DeliveryJob[] {
    const start = queue.waiting.splice(0, Math.max(0, this.#slots(queue)));
    this.#shares.count(queue.workspaceId, { waiting: -start.length });
    this.#begin(queue, start.length);
    this.#holdIfShort(webhookId, queue);
    return start;
  }

  /** Webhooks of a workspace take turns, and workspaces do. */
  #takeHeld(workspaceId: string): DeliveryJob[] {
    const start: DeliveryJob[] = [];
    for (const webhookId of this.#held.next(workspaceId)) {
      const queue = this.#queues.get(webhookId);
      if (queue) start.push(...this.#take(webhookId, queue));
    }
    return start;
  }

  #holdIfShort(webhookId: string, queue: EndpointQueue): void {
    if (queue.waiting.length > 0 && this.#slotsOfEndpoint(queue) > 0) this.#held.add(queue.workspaceId, webhookId);
    else this.#held.delete(queue.workspaceId, webhookId);
  }

  /** An endpoint of which nothing is known is judged by what comes first: a retry says that it has failed. */
  #queueOf({ webhookId, workspaceId, tries }: DeliveryJob): EndpointQueue {
    const present = this.#queues.get(webhookId);
    if (present) return present;
    const limitAtFirst = tries === 0 ? this.#limits.inFlight : 1;
    const fresh = { limit: limitAtFirst, circuit: new Circuit(tries > 0), failing: tries > 0 };
    const { limit, circuit, failing } = this.#known.get(webhookId) ?? fresh;
    const queue = { workspaceId, limit, circuit, failing, inFlight: 0, waiting: [], overflowed: false };
    this.#known.delete(webhookId);
    this.#queues.set(webhookId, queue);
    return queue;
  }

  /** If nothing of the webhook is here any more. */
  #restIfEmpty(webhookId: string, { workspaceId, limit, circuit, failing, inFlight, waiting }: EndpointQueue): void {
    if (inFlight > 0 || waiting.length > 0) return;
    this.#queues.delete(webhookId);
    this.#held.delete(workspaceId, webhookId);
    const earned = { workspaceId, limit, circuit, failing };
    if (limit < this.#limits.inFlight || failing || !circuit.pristine) this.#known.set(webhookId, earned);
  }

  #begin(queue: EndpointQueue, attempts: number): void {
    queue.inFlight += attempts;
    this.#shares.count(queue.workspaceId, { inFlight: attempts, atFailing: queue.failing ? attempts : 0 });
  }

  /** All that waits. */
  #takeOut(queue: EndpointQueue): DeliveryJob[] {
    const waiting = queue.waiting.splice(0);
    this.#shares.count(queue.workspaceId, { waiting: -waiting.length });
    for (const { body } of waiting) this.bytes -= body.length;
    return waiting;
  }
}
