import { LRUCache } from 'lru-cache';
import type { DeliveryJob } from './job.ts';

interface EndpointQueue {
  /** Attempts at once. */
  limit: number;
  inFlight: number;
  readonly waiting: DeliveryJob[];
  /** A job found no room here: more of them are in the table. */
  overflowed: boolean;
}

export interface QueueLimits {
  /** Attempts at once of one webhook. */
  readonly inFlight: number;
  /** Jobs of all webhooks, under way and waiting. */
  readonly jobs: number;
}

/** Jobs that may wait for each attempt that may be under way. */
const waitingPerSlot = 16;
/** Jobs of one webhook may take this part of the room that is left, so that none takes all of it. */
const shareOfRoom = 1 / 8;
/** An endpoint that takes so long is slow. */
const slowMs = 5_000;

/**
 * A queue for each webhook with a limit of its own, so that one that answers slowly, or never, holds up its own
 * deliveries only. A slow attempt halves the limit of its webhook, down to one at a time; a quick one raises it by one.
 */
export class EndpointQueues {
  readonly #limits: QueueLimits;
  readonly #queues = new Map<string, EndpointQueue>();
  /** Limits that slow endpoints are held to, kept while nothing of theirs is under way. */
  readonly #lowered = new LRUCache<string, number>({ max: 10_000 });
  /** Jobs under way and waiting, all webhooks together. */
  size = 0;
  /** What their bodies take. */
  bytes = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** 'start': attempt it now, and say when it is finished. 'full': it was not taken. */
  offer(job: DeliveryJob): 'start' | 'queued' | 'full' {
    const queue = this.#queueOf(job.webhookId);
    if (queue.inFlight < queue.limit) {
      queue.inFlight += 1;
      this.#count(job, 1);
      return 'start';
    }
    if (this.#isFull(queue)) {
      queue.overflowed = true;
      return 'full';
    }
    queue.waiting.push(job);
    this.#count(job, 1);
    return 'queued';
  }

  /**
   * The attempt of a job is over. Answers with the jobs to start in its place, and whether there is room again for what
   * was not taken.
   */
  finished(job: DeliveryJob, durationMs: number): { start: DeliveryJob[]; roomAgain: boolean } {
    const queue = this.#queueOf(job.webhookId);
    this.#count(job, -1);
    queue.inFlight -= 1;
    queue.limit = durationMs > slowMs ? Math.ceil(queue.limit / 2) : Math.min(queue.limit + 1, this.#limits.inFlight);
    const start = queue.waiting.splice(0, Math.max(0, queue.limit - queue.inFlight));
    queue.inFlight += start.length;
    const roomAgain = queue.overflowed && queue.waiting.length <= (queue.limit * waitingPerSlot) / 4;
    if (roomAgain) queue.overflowed = false;
    if (queue.inFlight === 0) this.#forget(job.webhookId, queue);
    return { start, roomAgain };
  }

  /** Webhooks that can take nothing right now. */
  full(): string[] {
    const ids: string[] = [];
    for (const [id, queue] of this.#queues) {
      if (queue.inFlight < queue.limit || !this.#isFull(queue)) continue;
      queue.overflowed = true;
      ids.push(id);
    }
    return ids;
  }

  /** Takes out all that waits. */
  drain(): DeliveryJob[] {
    const waiting = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    for (const job of waiting) this.#count(job, -1);
    return waiting;
  }

  #isFull({ limit, waiting }: EndpointQueue): boolean {
    const room = this.#limits.jobs - this.size;
    return waiting.length >= Math.min(limit * waitingPerSlot, room * shareOfRoom);
  }

  #queueOf(webhookId: string): EndpointQueue {
    const present = this.#queues.get(webhookId);
    if (present) return present;
    const limit = this.#lowered.get(webhookId) ?? this.#limits.inFlight;
    const queue = { limit, inFlight: 0, waiting: [], overflowed: false };
    this.#queues.set(webhookId, queue);
    return queue;
  }

  #forget(webhookId: string, { limit }: EndpointQueue): void {
    this.#queues.delete(webhookId);
    if (limit < this.#limits.inFlight) this.#lowered.set(webhookId, limit);
    else this.#lowered.delete(webhookId);
  }

  #count(job: DeliveryJob, sign: 1 | -1): void {
    this.size += sign;
    this.bytes += sign * job.body.length;
  }
}
