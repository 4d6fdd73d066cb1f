import type { Earned, EndpointQueue } from './endpoint-queue.ts';

/** How endpoints and their queues fare, for metrics. */
export interface Census {
  /** Attempts under way. */
  readonly inFlight: number;
  /** Jobs that wait for one. */
  readonly waiting: number;
  /** What the bodies of both take. */
  readonly bytes: number;
  readonly circuits: Readonly<Record<'closed' | 'half_open' | 'open', number>>;
  /** Webhooks whose circuit is not closed. */
  readonly circuitOpen: readonly string[];
  /** Webhooks that have as much here as they may: more of them wait in the table. */
  readonly throttled: readonly string[];
}

/** @param tripped webhooks whose circuit is not closed, with what is known of them while nothing of theirs is here */
export function censusOf(
  queues: ReadonlyMap<string, EndpointQueue>,
  tripped: readonly (readonly [webhookId: string, earned: Earned | undefined])[],
  nowMs: number,
): Pick<Census, 'circuits' | 'circuitOpen' | 'throttled'> {
  const circuits = { closed: 0, half_open: 0, open: 0 };
  const circuitOpen: string[] = [];
  const throttled: string[] = [];
  const count = (id: string, { circuit }: Earned) => {
    const state = circuit.state(nowMs);
    circuits[state === 'half-open' ? 'half_open' : state] += 1;
    if (state !== 'closed') circuitOpen.push(id);
    return state;
  };
  for (const [id, queue] of queues) {
    const state = count(id, queue);
    if (state === 'closed' && (queue.overflowed || queue.waiting.length > 0)) throttled.push(id);
  }
  for (const [id, earned] of tripped) if (earned && !queues.has(id)) count(id, earned);
  return { circuits, circuitOpen, throttled };
}
