import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Delivery, deliveryDocument } from '@rms/api';
import { abortableDelay, FairShare } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type {
  TailDeliveriesRequestSchema,
  TailDeliveriesResponse,
  TailedDelivery,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Logger } from '@rms/runtime/logging';

/** Live tails of deliveries, for all workspaces. */
export interface TailHub {
  /**
   * Adds a viewer. Resolves after the first poll, with a function that removes the viewer. Rejects with the error of
   * the poll, or with `rate_limit_exceeded` if a limit is reached: per instance, per user, or per workspace and
   * environment.
   * @param key workspace and environment
   * @param after position of the last received event; undefined: only new changes
   */
  join(key: string, viewer: Viewer, after: bigint | undefined): Promise<() => void>;
  /** Ends all streams. Browsers reconnect to another instance. */
  stop(): void;
}

const everyMs = 1_000;
/** Delay after a failed poll. */
const retryMs = 5_000;
const maxViewers = 500;
/** Open live tails per user, and per workspace and environment, so that these leave room for others. */
const maxPerUser = 20;
const maxPerTenant = 100;

interface Running {
  readonly tail: Tail;
  /** First poll. */
  readonly started: Promise<void>;
  readonly stop: AbortController;
}

/**
 * Polls webhooks once per second per workspace and environment with viewers. The rate does not depend on the
 * number of viewers.
 */
export function createTailHub(log: Logger): TailHub {
  const running = new Map<string, Running>();
  const viewers = new FairShare({ total: maxViewers, perTenant: maxPerUser });

  const run = async (tail: Tail, started: Promise<void>, { signal }: AbortController) => {
    await started.catch(() => undefined);
    let unavailable = false;
    while (!signal.aborted) {
      await abortableDelay(unavailable ? retryMs : everyMs, signal);
      if (signal.aborted) return;
      try {
        await tail.poll();
        unavailable = false;
      } catch (err) {
        if (!unavailable && !signal.aborted) log.warn({ err }, 'live tail poll failed');
        unavailable = true;
      }
    }
  };

  const begin = (key: string): Running => {
    const tail = new Tail();
    const stop = new AbortController();
    // Polls after the first viewer has been added.
    const started = Promise.resolve().then(() => tail.poll());
    const created = { tail, started, stop };
    running.set(key, created);
    void run(tail, started, stop);
    return created;
  };

  return {
    async join(key, viewer, after) {
      if (viewers.used >= maxViewers) {
        throw new RmsError('rate_limit_exceeded', { message: `Too many live tails are open (limit: ${maxViewers}).` });
      }
      if (viewers.of(viewer.userId) >= maxPerUser) {
        throw new RmsError('rate_limit_exceeded', {
          message: `You have too many live tails open (limit: ${maxPerUser}).`,
        });
      }
      if ((running.get(key)?.tail.viewers.length ?? 0) >= maxPerTenant) {
        throw new RmsError('rate_limit_exceeded', {
          message: `The workspace has too many live tails open in this environment (limit: ${maxPerTenant}).`,
        });
      }
      const here = running.get(key) ?? begin(key);
      viewers.take(viewer.userId);
      here.tail.add(viewer, after);
      let hasLeft = false;
      const leave = () => {
        if (hasLeft) return;
        hasLeft = true;
        viewers.release(viewer.userId);
        here.tail.remove(viewer);
        if (here.tail.viewers.length > 0) return;
        here.stop.abort();
        if (running.get(key) === here) running.delete(key);
      };
      try {
        await here.started;
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    stop() {
      for (const { tail } of running.values()) for (const viewer of tail.viewers) viewer.end();
    },
  };
}

/** Polls webhooks with the viewer's identity. */
type Poll = (
  requested: Pick<MessageInitShape<typeof TailDeliveriesRequestSchema>, 'after' | 'knownIds'>,
) => Promise<TailDeliveriesResponse>;

/** An open stream of a page. */
interface Viewer {
  readonly userId: string;
  readonly poll: Poll;
  /** Called with new and changed deliveries. `position` is the position to resume from. */
  changed(position: bigint, deliveries: readonly Delivery[]): void;
  /** Called when changes were dropped. */
  missed(position: bigint): void;
  end(): void;
}

/** Maximum number of deliveries that are watched for changes. The most recent ones are kept. */
const maxKnown = 200;

/** Live tail of a workspace and environment. */
class Tail {
  /** Position of each viewer's last notification. Undefined until the first poll. */
  readonly #viewers = new Map<Viewer, bigint | undefined>();
  /** Last sent JSON of each delivery, oldest first. */
  readonly #known = new Map<string, string>();
  #position: bigint | undefined;

  get viewers(): Viewer[] {
    return [...this.#viewers.keys()];
  }

  /**
   * Adds a viewer.
   * @param after position of the last received event; undefined: only new changes
   */
  add(viewer: Viewer, after: bigint | undefined): void {
    this.#viewers.set(viewer, after ?? this.#position);
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
  }

  /**
   * Polls once for all viewers. If the poll fails, no viewer is notified and the next poll starts at the same position.
   */
  async poll(): Promise<void> {
    const [first] = this.#viewers.keys();
    if (!first) return;
    const found = await first.poll({ ...this.#after(), knownIds: [...this.#known.keys()] });
    const fresh = found.deliveries.flatMap(toPositioned);
    const changed = found.known
      .flatMap(toPositioned)
      .filter(({ document, json }) => this.#known.get(document.id) !== json);
    for (const [viewer, position] of this.#viewers) {
      if (position === undefined) this.#viewers.set(viewer, found.position);
      else this.#notify(viewer, position, found, fresh, changed);
    }
    this.#remember(found, [...changed, ...fresh]);
    this.#position = found.position;
  }

  /** Returns the position furthest behind among the viewers. */
  #after(): { after?: bigint } {
    const known = [...this.#viewers.values(), this.#position].filter((position) => position !== undefined);
    const [least] = known.sort((a, b) => (a < b ? -1 : 1));
    return least === undefined ? {} : { after: least };
  }

  #notify(
    viewer: Viewer,
    position: bigint,
    found: TailDeliveriesResponse,
    fresh: readonly Positioned[],
    changed: readonly Positioned[],
  ): void {
    this.#viewers.set(viewer, found.position);
    // A position beyond the feed's end means that the database was restored from a backup.
    if (position < found.completeAfter || position > found.position) {
      viewer.missed(found.position);
      return;
    }
    const news = new Map(changed.map(({ document }) => [document.id, document]));
    for (const { document, position: at } of fresh) if (at > position) news.set(document.id, document);
    if (news.size > 0) viewer.changed(found.position, [...news.values()]);
  }

  #remember(found: TailDeliveriesResponse, notified: readonly Positioned[]): void {
    const present = new Set(found.known.map(({ delivery }) => delivery?.id));
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id);
    for (const { document, json } of notified) this.#known.set(document.id, json);
    const tooMany = this.#known.size - maxKnown;
    for (const id of [...this.#known.keys()].sort().slice(0, Math.max(0, tooMany))) this.#known.delete(id);
  }
}

interface Positioned {
  readonly document: Delivery;
  /** Viewers are notified when it changes. Without `next_attempt_at`, which every attempt of a webhook moves. */
  readonly json: string;
  readonly position: bigint;
}

function toPositioned(tailed: TailedDelivery): Positioned[] {
  if (!tailed.delivery) return [];
  const document = deliveryDocument(tailed.delivery);
  return [{ document, json: JSON.stringify({ ...document, next_attempt_at: null }), position: tailed.position }];
}
