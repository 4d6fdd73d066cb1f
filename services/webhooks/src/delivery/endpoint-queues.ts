import { LRUCache } from 'lru-cache';
import { Circuit } from './circuit.ts';
import type { DeliveryJob } from './job.ts';

interface EndpointQueue {
  readonly workspaceId: string;
  /** Attempts at once. */
  limit: number;
  inFlight: number;
  readonly waiting: DeliveryJob[];
  readonly circuit: Circuit;
  /** A job found no room here: more of them are in the table. */
  overflowed: boolean;
}

export interface QueueLimits {
  /** Attempts at once of one webhook. */
  readonly inFlight: number;
  /** Attempts at once of all webhooks of a workspace. */
  readonly inFlightOfWorkspace: number;
  /** Jobs of all webhooks, under way and waiting. */
  readonly jobs: number;
}

/** How an attempt ended, as far as the endpoint's state is concerned. */
export interface Outcome {
  readonly durationMs: number;
  /** 'refused': it answers, and does not want this delivery. */
  readonly health: 'arrived' | 'refused' | 'failing' | 'not attempted';
}

/** What follows from the end of an attempt. */
export interface Next {
  readonly start: DeliveryJob[];
  readonly giveBack: DeliveryJob[];
  readonly roomAgain: boolean;
}

/** Jobs that may wait for each attempt that may be under way. */
const waitingPerSlot = 16;
/** Jobs of one webhook may take this part of the room that is left, so that none takes all of it. */
const shareOfRoom = 1 / 8;
/** And jobs of one workspace this part of all the room. */
const shareOfWorkspace = 1 / 2;
/** An endpoint that takes so long is slow. */
const slowMs = 5_000;

/**
 * A queue for each webhook with a limit and a circuit of its own, so that one that answers slowly, or never, holds up its
 * own deliveries only; and a limit for each workspace. A slow or failing attempt halves the limit of its webhook, down to
 * one at a time; a quick one raises it by one, so that an endpoint that recovers is not overrun.
 */
export class EndpointQueues {
  readonly #limits: QueueLimits;
  readonly #now: () => number;
  readonly #queues = new Map<string, EndpointQueue>();
  /** Queues whose webhook could go on, and whose workspace could not. */
  readonly #held = new Set<string>();
  readonly #workspaces = new Map<string, { jobs: number; inFlight: number }>();
  /** Webhooks of which nothing is here because their workspace has its share of the room, by their workspace. */
  readonly #refused = new Map<string, Set<string>>();
  /** Webhooks whose circuit has opened. */
  readonly #open = new Set<string>();
  /** What endpoints have earned, kept while nothing of theirs is under way. */
  readonly #known = new LRUCache<string, Pick<EndpointQueue, 'limit' | 'circuit'>>({ max: 10_000 });
  /** Jobs under way and waiting, all webhooks together. */
  size = 0;
  /** What their bodies take. */
  bytes = 0;

  constructor(limits: QueueLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** 'start': attempt it now, and say when it is finished. 'full': it was not taken. */
  offer(job: DeliveryJob): 'start' | 'queued' | 'full' {
    const queue = this.#queueOf(job);
    if (queue.waiting.length === 0 && this.#slots(queue) > 0 && this.#workspaceSlots(queue) > 0) {
      queue.inFlight += 1;
      this.#count(job, 1, 1);
      return 'start';
    }
    if (this.#isFull(queue)) {
      queue.overflowed = true;
      if (queue.inFlight === 0 && queue.waiting.length === 0) {
        if (this.#workspaceJobs(queue) >= this.#shareOfWorkspace) this.#refuse(job);
        this.#rest(job.webhookId, queue);
      }
      return 'full';
    }
    queue.waiting.push(job);
    this.#count(job, 1, 0);
    if (this.#slots(queue) > 0) this.#held.add(job.webhookId);
    return 'queued';
  }

  /**
   * The attempt of a job is over. Answers with the jobs to start in its place, those that wait in vain because the circuit
   * has opened, and whether there is room again for what was not taken.
   */
  finished(job: DeliveryJob, { durationMs, health }: Outcome): Next {
    const queue = this.#queueOf(job);
    this.#count(job, -1, -1);
    queue.inFlight -= 1;
    const opened = health === 'failing' && queue.circuit.failed(this.#now());
    if (opened) this.#open.add(job.webhookId);
    if (health === 'arrived' || health === 'refused') queue.circuit.succeeded();
    if (health === 'failing' || durationMs > slowMs) queue.limit = Math.ceil(queue.limit / 2);
    else if (health !== 'not attempted') queue.limit = Math.min(queue.limit + 1, this.#limits.inFlight);
    const giveBack = opened ? queue.waiting.splice(0) : [];
    for (const waiting of giveBack) this.#count(waiting, -1, 0);
    const start = [...this.#take(job.webhookId, queue), ...this.#takeHeld()];
    const workspaceHasRoom =
      this.#workspaceJobs(queue) <= this.#shareOfWorkspace / 2 && this.#refused.delete(queue.workspaceId);
    const queueHasRoom = queue.overflowed && queue.waiting.length <= (queue.limit * waitingPerSlot) / 4;
    if (queueHasRoom) queue.overflowed = false;
    const roomAgain = queueHasRoom || workspaceHasRoom;
    if (queue.inFlight === 0 && queue.waiting.length === 0) this.#rest(job.webhookId, queue);
    return { start, giveBack, roomAgain };
  }

  /** Webhooks that can take nothing right now. */
  full(): string[] {
    const ids: string[] = [];
    for (const [id, queue] of this.#queues) {
      if (this.#slots(queue) > 0 || !this.#isFull(queue)) continue;
      queue.overflowed = true;
      ids.push(id);
    }
    for (const refused of this.#refused.values()) ids.push(...refused);
    for (const id of this.#open) if (this.#isOpen(id)) ids.push(id);
    return ids;
  }

  /** When the first of the open circuits lets an attempt through; undefined: none is open. */
  nextProbeAtMs(): number | undefined {
    const times = [...this.#open].flatMap((id) => (this.#isOpen(id) ? (this.#circuitOf(id)?.opensAtMs ?? []) : []));
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  /** Takes out all that waits. */
  drain(): DeliveryJob[] {
    const waiting = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    for (const job of waiting) this.#count(job, -1, 0);
    return waiting;
  }

  #circuitOf(webhookId: string): Circuit | undefined {
    return (this.#queues.get(webhookId) ?? this.#known.peek(webhookId))?.circuit;
  }

  #isOpen(webhookId: string): boolean {
    if (this.#circuitOf(webhookId)?.state(this.#now()) === 'open') return true;
    this.#open.delete(webhookId);
    return false;
  }

  /** Further attempts that the endpoint may have now. */
  #slots({ limit, inFlight, circuit }: EndpointQueue): number {
    const state = circuit.state(this.#now());
    return (state === 'closed' ? limit : state === 'half-open' ? 1 : 0) - inFlight;
  }

  #workspaceSlots({ workspaceId }: EndpointQueue): number {
    return this.#limits.inFlightOfWorkspace - (this.#workspaces.get(workspaceId)?.inFlight ?? 0);
  }

  get #shareOfWorkspace(): number {
    return this.#limits.jobs * shareOfWorkspace;
  }

  #workspaceJobs({ workspaceId }: Pick<EndpointQueue, 'workspaceId'>): number {
    return this.#workspaces.get(workspaceId)?.jobs ?? 0;
  }

  #refuse({ workspaceId, webhookId }: DeliveryJob): void {
    this.#refused.set(workspaceId, (this.#refused.get(workspaceId) ?? new Set()).add(webhookId));
  }

  #take(webhookId: string, queue: EndpointQueue): DeliveryJob[] {
    const slots = Math.min(this.#slots(queue), this.#workspaceSlots(queue));
    const start = queue.waiting.splice(0, Math.max(0, slots));
    queue.inFlight += start.length;
    const workspace = this.#workspaces.get(queue.workspaceId);
    if (workspace) workspace.inFlight += start.length;
    if (queue.waiting.length > 0 && this.#slots(queue) > 0) this.#held.add(webhookId);
    else this.#held.delete(webhookId);
    return start;
  }

  /** Webhooks of a workspace take turns. */
  #takeHeld(): DeliveryJob[] {
    const start: DeliveryJob[] = [];
    for (const webhookId of [...this.#held]) {
      this.#held.delete(webhookId);
      const queue = this.#queues.get(webhookId);
      if (queue) start.push(...this.#take(webhookId, queue));
    }
    return start;
  }

  #isFull({ workspaceId, limit, waiting, circuit }: EndpointQueue): boolean {
    if (circuit.state(this.#now()) !== 'closed') return true;
    if (this.#workspaceJobs({ workspaceId }) >= this.#shareOfWorkspace) return true;
    const room = this.#limits.jobs - this.size;
    return waiting.length >= Math.min(limit * waitingPerSlot, room * shareOfRoom);
  }

  #queueOf({ webhookId, workspaceId }: DeliveryJob): EndpointQueue {
    const present = this.#queues.get(webhookId);
    if (present) return present;
    const { limit, circuit } = this.#known.get(webhookId) ?? { limit: this.#limits.inFlight, circuit: new Circuit() };
    const queue = { workspaceId, limit, circuit, inFlight: 0, waiting: [], overflowed: false };
    this.#known.delete(webhookId);
    this.#queues.set(webhookId, queue);
    return queue;
  }

  /** Nothing of the webhook is here any more. */
  #rest(webhookId: string, { limit, circuit }: EndpointQueue): void {
    this.#queues.delete(webhookId);
    this.#held.delete(webhookId);
    if (limit < this.#limits.inFlight || !circuit.pristine) this.#known.set(webhookId, { limit, circuit });
  }

  #count({ workspaceId, body }: DeliveryJob, jobs: 1 | -1, inFlight: 1 | 0 | -1): void {
    this.size += jobs;
    this.bytes += jobs * body.length;
    const workspace = this.#workspaces.get(workspaceId) ?? { jobs: 0, inFlight: 0 };
    workspace.jobs += jobs;
    workspace.inFlight += inFlight;
    if (workspace.jobs === 0) this.#workspaces.delete(workspaceId);
    else this.#workspaces.set(workspaceId, workspace);
  }
}
