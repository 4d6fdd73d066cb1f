import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Delivery, deliveryDocument } from '@rms/api';
import type {
  TailDeliveriesRequestSchema,
  TailDeliveriesResponse,
  TailedDelivery,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';

/** Polls webhooks with the viewer's identity. */
export type Poll = (
  requested: Pick<MessageInitShape<typeof TailDeliveriesRequestSchema>, 'after' | 'knownIds'>,
) => Promise<TailDeliveriesResponse>;

/** An open stream of a page. */
export interface Viewer {
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
export class Tail {
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
