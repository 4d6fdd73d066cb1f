import { Lanes } from '@rms/async';
import { activeSpans, inSpans, isTracing, type Span } from '@rms/async/tracing';

export interface FairBatchOptions<In> {
  /** Items of a lane are sent in order, and a lane is in at most one batch at a time. */
  readonly laneOf: (item: In) => string;
  readonly bytesOf: (item: In) => number;
  readonly maxInFlight: number;
  readonly maxBatch: number;
  /** A batch ends with the item that brings it to this size. */
  readonly maxBytes: number;
}

interface Waiting<In, Out> {
  readonly item: In;
  readonly spans: readonly Span[];
  readonly resolve: (result: Out) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines items into batches, like `coalesce()`, but independently per lane: a batch takes one item of each waiting
 * lane in turn and is bounded in bytes. A lane with many or large items therefore delays the items of another lane by
 * at most the batches in flight. No item waits for a timer.
 *
 * @param send returns the result of each item; a rejection rejects every item of the batch
 */
export function batchFairly<In, Out>(
  send: (items: In[]) => Promise<readonly Out[]>,
  { laneOf, bytesOf, maxInFlight, maxBatch, maxBytes }: FairBatchOptions<In>,
): (item: In) => Promise<Out> {
  /** Lanes of a batch in flight are held. */
  const lanes = new Lanes<Waiting<In, Out>>();
  let inFlight = 0;
  let scheduled = false;

  /** Removes and returns the next batch; empty if every waiting lane is in a batch. */
  const takeBatch = (): Waiting<In, Out>[] => {
    const batch: Waiting<In, Out>[] = [];
    let bytes = 0;
    while (batch.length < maxBatch && bytes < maxBytes) {
      const next = lanes.shift();
      if (!next) break;
      batch.push(next);
      bytes += bytesOf(next.item);
    }
    return batch;
  };
  const sendBatch = async (batch: readonly Waiting<In, Out>[]) => {
    const names = new Set(batch.map(({ item }) => laneOf(item)));
    for (const name of names) lanes.hold(name);
    inFlight += 1;
    try {
      const items = batch.map(({ item }) => item);
      const spans = isTracing() ? [...new Set(batch.flatMap((one) => one.spans))] : [];
      const results = await inSpans(spans, () => send(items));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Out);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight -= 1;
      for (const name of names) lanes.release(name);
      pump();
    }
  };
  const pump = () => {
    scheduled = false;
    while (inFlight < maxInFlight) {
      const batch = takeBatch();
      if (batch.length === 0) return;
      void sendBatch(batch);
    }
  };
  return (item) =>
    new Promise((resolve, reject) => {
      lanes.push(laneOf(item), { item, spans: activeSpans(), resolve, reject });
      if (!scheduled && inFlight < maxInFlight) {
        scheduled = true;
        setImmediate(pump);
      }
    });
}
