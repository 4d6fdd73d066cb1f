import { RmsError } from '@rms/errors';
import { activeSpans, inSpans, isTracing, type Span } from '@rms/tracing';

export interface CoalesceOptions {
  /** Batches under way at once. */
  readonly maxInFlight?: number;
  readonly maxBatch?: number;
  /** Calls that may wait; more are refused with `service_unavailable`, so that a slow answerer can't fill memory. */
  readonly maxWaiting?: number;
  /** A call that has waited longer when its turn comes is refused in the same way: whoever made it waits no more. */
  readonly maxWaitMs?: number;
}

const overloadRetrySeconds = 1;

/**
 * Lets calls that are made while others are under way travel together.
 *
 * With nothing in flight a call leaves at once (after the current turn of the event loop, so that requests read in one
 * turn share one trip); while `maxInFlight` batches are under way, later calls gather and leave as one batch when a
 * batch returns. Nothing ever waits for a timer.
 *
 * @param send answers in the order of `items`, one each; a rejection rejects every call of the batch
 */
export function coalesce<In, Out>(
  send: (items: In[]) => Promise<readonly Out[]>,
  { maxInFlight = 1, maxBatch = 200, maxWaiting = 10_000, maxWaitMs = Number.POSITIVE_INFINITY }: CoalesceOptions = {},
): (item: In) => Promise<Out> {
  type Waiting = {
    item: In;
    sinceMs: number;
    spans: readonly Span[];
    resolve: (out: Out) => void;
    reject: (error: unknown) => void;
  };
  const queue: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;

  const sendBatch = async (batch: readonly Waiting[]) => {
    try {
      const items = batch.map(({ item }) => item);
      const outs = await (isTracing() ? inSpans(spansOf(batch), () => send(items)) : send(items));
      if (outs.length !== batch.length) throw new Error(`${outs.length} answers to a batch of ${batch.length}`);
      for (const [index, { resolve }] of batch.entries()) resolve(outs[index] as Out);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight -= 1;
      pump();
    }
  };
  const refuseLate = () => {
    const nowMs = performance.now();
    while (queue[0] && nowMs - queue[0].sinceMs > maxWaitMs) {
      queue.shift()?.reject(overloaded(`the call has waited longer than ${maxWaitMs} ms`));
    }
  };
  const pump = () => {
    scheduled = false;
    refuseLate();
    while (queue.length > 0 && inFlight < maxInFlight) {
      inFlight += 1;
      void sendBatch(queue.splice(0, maxBatch));
    }
  };
  return (item) =>
    new Promise((resolve, reject) => {
      if (queue.length >= maxWaiting) {
        return reject(overloaded(`${queue.length} calls are waiting already`));
      }
      queue.push({ item, sinceMs: performance.now(), spans: activeSpans(), resolve, reject });
      if (!scheduled && inFlight < maxInFlight) {
        scheduled = true;
        setImmediate(pump);
      }
    });
}

/** Of all calls, each once: several calls may be made for one request. */
function spansOf(batch: readonly { spans: readonly Span[] }[]): readonly Span[] {
  const [first] = batch;
  if (first && batch.length === 1) return first.spans;
  return [...new Set(batch.flatMap(({ spans }) => spans))];
}

function overloaded(reason: string): RmsError {
  return new RmsError('service_unavailable', { retryAfterSeconds: overloadRetrySeconds, cause: new Error(reason) });
}
