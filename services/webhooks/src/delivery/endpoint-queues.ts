import type { DeliveryJob } from './job.ts';

interface EndpointQueue {
  inFlight: number;
  readonly waiting: DeliveryJob[];
}

/**
 * A queue for each webhook with a limit of its own, so that one that answers slowly, or never, holds up its own
 * deliveries only.
 */
export class EndpointQueues {
  readonly #limits: { readonly inFlight: number; readonly queued: number };
  readonly #queues = new Map<string, EndpointQueue>();
  /** Jobs under way and waiting, all webhooks together. */
  size = 0;

  constructor(limits: { inFlight: number; queued: number }) {
    this.#limits = limits;
  }

  /** 'start': attempt it now, and say when it is finished. 'full': it was not taken. */
  offer(job: DeliveryJob): 'start' | 'queued' | 'full' {
    let queue = this.#queues.get(job.webhookId);
    if (!queue) {
      queue = { inFlight: 0, waiting: [] };
      this.#queues.set(job.webhookId, queue);
    }
    if (queue.inFlight < this.#limits.inFlight) {
      queue.inFlight += 1;
      this.size += 1;
      return 'start';
    }
    if (queue.waiting.length >= this.#limits.queued) return 'full';
    queue.waiting.push(job);
    this.size += 1;
    return 'queued';
  }

  /** An attempt of this webhook is over; answers with the jobs to start in its place, none or one. */
  finished(webhookId: string): DeliveryJob[] {
    const queue = this.#queues.get(webhookId);
    if (!queue) return [];
    this.size -= 1;
    const next = queue.waiting.shift();
    if (next) return [next];
    queue.inFlight -= 1;
    if (queue.inFlight === 0) this.#queues.delete(webhookId);
    return [];
  }

  /** Takes out all that waits. */
  drain(): DeliveryJob[] {
    const waiting = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    this.size -= waiting.length;
    return waiting;
  }
}
