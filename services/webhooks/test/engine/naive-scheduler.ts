import { type Change, Endpoint, type Outcome } from '../../src/engine/schedule/endpoint.ts';
import type { Attempt, EndpointRef } from '../../src/engine/schedule/entries.ts';
import type { Limits } from '../../src/engine/schedule/limits.ts';
import type { Capacity, Finished, Next, Refill, Refilled, Scheduler } from '../../src/engine/schedule/scheduler.ts';

const nothing = () => ({ start: [], release: [] });

/**
 * A reference for {@link Scheduler}: it keeps the same limits with a list of attempts, which it counts for every
 * decision. It leases nothing ahead, leaves fresh deliveries to polls, and remembers all endpoints.
 */
export class NaiveScheduler<A extends Attempt>
  implements Pick<Scheduler<A>, 'offer' | 'finish' | 'found' | 'stored' | 'next' | 'refilled' | 'capacity' | 'stats'>
{
  readonly #limits: Limits;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #workspaces = new Map<string, string>();
  readonly #due = new Set<string>();
  #attempts: A[] = [];
  #refills: readonly Refill[] = [];
  readonly canPoll = true;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  capacity(): Capacity {
    const none = new Map<string, number>();
    return { total: 0, ofWorkspaces: none, ofOtherWorkspaces: 0, ofWebhooks: none, part: { rank: 0, count: 1 } };
  }

  offer(attempt: A): 'start' | 'full' {
    const endpoint = this.#know(attempt.endpoint);
    if (this.#free(attempt.endpoint.webhookId) === 0) return 'full';
    this.#attempts.push(attempt);
    endpoint.start(attempt.id);
    return 'start';
  }

  finish(attempt: A, outcome: Outcome): Finished<A> {
    this.#attempts = this.#attempts.filter(({ id }) => id !== attempt.id);
    const change: Change | undefined = this.#know(attempt.endpoint).finish(attempt.id, outcome);
    return { change, ...nothing() };
  }

  found(webhooks: readonly EndpointRef[]): void {
    for (const ref of webhooks) {
      this.#know(ref);
      this.#due.add(ref.webhookId);
    }
  }

  stored(): boolean {
    return true;
  }

  next(): Refill[] {
    const refills: Refill[] = [];
    let rest = this.#limits.deliveriesPerLease;
    for (const webhookId of this.#due) {
      this.#refills = refills;
      const attempts = Math.min(this.#free(webhookId), rest);
      this.#due.delete(webhookId);
      if (attempts === 0) continue;
      rest -= attempts;
      const isKnown = this.#count((id) => id === webhookId) > 0 || this.#endpoints.get(webhookId)?.isNotable === true;
      refills.push({ webhookId, deliveries: attempts, attempts, isKnown });
    }
    return refills;
  }

  refilled(_: readonly Refill[], results: readonly Refilled[]): Next<A> {
    this.#refills = [];
    for (const { webhookId, state } of results) this.#endpoints.get(webhookId)?.refresh(state);
    return nothing();
  }

  excluded() {
    return { webhookIds: [...this.#endpoints.keys()].filter((id) => this.#free(id) === 0), workspaceIds: [] };
  }

  stats() {
    return {
      inFlight: this.#count(() => true),
      ahead: 0,
      bytes: 0,
      heldByWebhook: 0,
      heldByWorkspace: this.#due.size,
      throttled: [...this.#due],
    };
  }

  #know({ webhookId, workspaceId }: EndpointRef): Endpoint {
    this.#workspaces.set(webhookId, workspaceId);
    const endpoint = this.#endpoints.get(webhookId) ?? new Endpoint(this.#limits, this.#limits.attemptsOfWebhook);
    this.#endpoints.set(webhookId, endpoint);
    return endpoint;
  }

  /** Returns how many attempts are in flight or reserved by refills, of the webhooks that fulfill a condition. */
  #count(holds: (webhookId: string) => boolean): number {
    const reserved = this.#refills.filter(({ webhookId }) => holds(webhookId));
    return (
      this.#attempts.filter(({ endpoint }) => holds(endpoint.webhookId)).length +
      reserved.reduce((sum, { attempts }) => sum + attempts, 0)
    );
  }

  #free(webhookId: string): number {
    const endpoint = this.#endpoints.get(webhookId);
    if (!endpoint) return 0;
    const { attempts, attemptsOfWorkspace, partOfFailing } = this.#limits;
    const isOwn = (id: string) => this.#workspaces.get(id) === this.#workspaces.get(webhookId);
    const isFailing = (id: string) => this.#endpoints.get(id)?.failing === true;
    endpoint.inFlight = this.#count((id) => id === webhookId);
    const free = [
      endpoint.free,
      attempts - this.#count(() => true),
      attemptsOfWorkspace - this.#count(isOwn),
      ...(endpoint.failing
        ? [
            Math.ceil(attempts * partOfFailing) - this.#count(isFailing),
            Math.ceil(attemptsOfWorkspace * partOfFailing) - this.#count((id) => isOwn(id) && isFailing(id)),
          ]
        : []),
    ];
    return Math.max(0, Math.min(...free));
  }
}
