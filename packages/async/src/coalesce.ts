import { RmsError } from '@rms/base/errors';
import { type CallScope, currentCall, inCall, joinCalls } from './calls.ts';
import { FairQueue } from './fair-queue.ts';
import { activeSpans, inSpans, isTracing, type Span } from './tracing/index.ts';

export interface CoalesceOptions<In = never> {
  /** Maximum number of batches in flight. */
  readonly maxInFlight?: number;
  readonly maxBatch?: number;
  /**
   * Maximum number of queued calls; further calls are rejected with `service_unavailable`, which bounds memory when
   * `send` is slow.
   */
  readonly maxWaiting?: number;
  /**
   * Tenant of an item, for example its workspace. A batch takes one item of each tenant in turn, so that a tenant with
   * many items delays the others by at most the batches in flight and one more. Default: all items have one tenant.
   */
  readonly tenantOf?: (item: In) => string;
  /** Whether a tenant is in at most one batch at a time, so that it cannot occupy all batches in flight. */
  readonly isExclusive?: boolean;
  /** Size of an item, for `maxBytes`. */
  readonly bytesOf?: (item: In) => number;
  /** A batch ends with the item that brings it to this size. */
  readonly maxBytes?: number;
  /**
   * Maximum time in the queue. A call that is older at its turn is rejected in the same way and not sent, because its
   * caller gives up.
   */
  readonly maxWaitMs?: number;
}

const overloadRetrySeconds = 1;

/**
 * Combines calls that arrive while other calls are in flight into batches.
 *
 * With nothing in flight, a call is sent immediately (after the current turn of the event loop, so that requests read
 * in one turn share a batch). While `maxInFlight` batches are in flight, later calls are queued and sent as one batch
 * when a batch returns. No call waits for a timer. Calls of a tenant are sent in order.
 *
 * A call with a signal that is aborted while it is queued is rejected with the signal's reason and not sent: its caller
 * has given up and may already have retried. A batch in flight ends when all RPCs that wait for it end ({@link
 * joinCalls}).
 *
 * @param send returns one result per item, in the order of `items`; a rejection rejects every call of the batch
 */
export function coalesce<In, Out>(
  send: (items: In[]) => Promise<readonly Out[]>,
  {
    maxInFlight = 1,
    maxBatch = 200,
    maxWaiting = 10_000,
    maxWaitMs = Number.POSITIVE_INFINITY,
    tenantOf = () => '',
    isExclusive = false,
    bytesOf = () => 0,
    maxBytes = Number.POSITIVE_INFINITY,
  }: CoalesceOptions<In> = {},
): (item: In, signal?: AbortSignal) => Promise<Out> {
  type Waiting = {
    item: In;
    signal: AbortSignal | undefined;
    sinceMs: number;
    spans: readonly Span[];
    call: CallScope | undefined;
    resolve: (out: Out) => void;
    reject: (error: unknown) => void;
  };
  const queue = new FairQueue<Waiting>();
  let inFlight = 0;
  let nowMs = 0;
  let scheduled = false;

  const sendBatch = async (batch: readonly Waiting[]) => {
    const joint = joinCalls(batch.map(({ call }) => call));
    try {
      const items = batch.map(({ item }) => item);
      const sendItems = () => inCall(joint.call, () => send(items));
      const outs = await (isTracing() ? inSpans(spansOf(batch), sendItems) : sendItems());
      if (outs.length !== batch.length) throw new Error(`${outs.length} results for a batch of ${batch.length}`);
      for (const [index, { resolve }] of batch.entries()) resolve(outs[index] as Out);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      joint.leave();
      inFlight -= 1;
      if (isExclusive) for (const { item } of batch) queue.release(tenantOf(item));
      pump();
    }
  };
  /** Rejects calls that are aborted or late. */
  const isWanted = ({ signal, sinceMs, reject }: Waiting) => {
    const isLate = nowMs - sinceMs > maxWaitMs;
    if (signal?.aborted) reject(signal.reason);
    else if (isLate) reject(overloaded(`the call was queued for more than ${maxWaitMs} ms`));
    return !signal?.aborted && !isLate;
  };
  /** Removes the next batch from the queue. It is empty if only late and aborted calls, or held tenants, were queued. */
  const nextBatch = () => {
    const batch: Waiting[] = [];
    let bytes = 0;
    while (batch.length < maxBatch && bytes < maxBytes) {
      const next = queue.shift();
      if (!next) break;
      if (!isWanted(next)) continue;
      batch.push(next);
      bytes += bytesOf(next.item);
    }
    if (isExclusive) for (const { item } of batch) queue.hold(tenantOf(item));
    return batch;
  };
  const pump = () => {
    scheduled = false;
    nowMs = performance.now();
    while (queue.size > 0 && inFlight < maxInFlight) {
      const batch = nextBatch();
      if (batch.length === 0) return;
      inFlight += 1;
      void sendBatch(batch);
    }
  };
  return (item, signal) =>
    new Promise((resolve, reject) => {
      if (queue.size >= maxWaiting) {
        return reject(overloaded(`${queue.size} calls are already queued`));
      }
      queue.push(tenantOf(item), {
        item,
        signal,
        sinceMs: performance.now(),
        spans: activeSpans(),
        call: currentCall(),
        resolve,
        reject,
      });
      if (!scheduled && inFlight < maxInFlight) {
        scheduled = true;
        setImmediate(pump);
      }
    });
}

/** Returns the distinct spans of all calls, because several calls may belong to one request. */
function spansOf(batch: readonly { spans: readonly Span[] }[]): readonly Span[] {
  const [first] = batch;
  if (first && batch.length === 1) return first.spans;
  return [...new Set(batch.flatMap(({ spans }) => spans))];
}

function overloaded(reason: string): RmsError {
  return new RmsError('service_unavailable', { retryAfterSeconds: overloadRetrySeconds, cause: new Error(reason) });
}
