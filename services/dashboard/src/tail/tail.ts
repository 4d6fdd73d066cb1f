import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  TailDeliveriesRequestSchema,
  TailDeliveriesResponse,
  TailedDelivery,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type DeliveryDocument, tailedDocument } from '../documents/delivery.ts';

/** Asks webhooks, in the name of whoever looks. */
export type Look = (
  asked: Pick<MessageInitShape<typeof TailDeliveriesRequestSchema>, 'after' | 'knownIds'>,
) => Promise<TailDeliveriesResponse>;

export interface Viewer {
  readonly userId: string;
  readonly look: Look;
  /** Deliveries are new or fare otherwise than before; the position is where to go on. */
  changed(position: bigint, deliveries: readonly DeliveryDocument[]): void;
  /** More has happened than is told. */
  missed(position: bigint): void;
  end(): void;
}

/** Deliveries whose changes are told: those of the latest events. */
const mostKnown = 200;

/** The deliveries of one workspace and environment, for all who look at them. */
export class Tail {
  /** Up to where each has been told; undefined: from the first look on. */
  readonly #viewers = new Map<Viewer, bigint | undefined>();
  /** As they were told last, as JSON; the latest last. */
  readonly #known = new Map<string, string>();
  #position: bigint | undefined;

  get viewers(): Viewer[] {
    return [...this.#viewers.keys()];
  }

  /** @param after undefined: from now on */
  add(viewer: Viewer, after: bigint | undefined): void {
    this.#viewers.set(viewer, after ?? this.#position);
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
  }

  /** One look for all. Rejects if webhooks does: nothing has been told then, and the next look goes on from there. */
  async look(): Promise<void> {
    const [first] = this.#viewers.keys();
    if (!first) return;
    const found = await first.look({ ...this.#after(), knownIds: [...this.#known.keys()] });
    const fresh = found.deliveries.flatMap(toPlaced);
    const changed = found.known.flatMap(toPlaced).filter(({ document, json }) => this.#known.get(document.id) !== json);
    for (const [viewer, position] of this.#viewers) {
      if (position === undefined) this.#viewers.set(viewer, found.position);
      else this.#tell(viewer, position, found, fresh, changed);
    }
    this.#remember(found, [...changed, ...fresh]);
    this.#position = found.position;
  }

  /** Of the viewer that is behind the most. */
  #after(): { after?: bigint } {
    const known = [...this.#viewers.values(), this.#position].filter((position) => position !== undefined);
    const [least] = known.sort((a, b) => (a < b ? -1 : 1));
    return least === undefined ? {} : { after: least };
  }

  #tell(
    viewer: Viewer,
    position: bigint,
    found: TailDeliveriesResponse,
    fresh: readonly Placed[],
    changed: readonly Placed[],
  ): void {
    this.#viewers.set(viewer, found.position);
    // The feed ends before what they have seen: it is another one, of a database that was restored.
    if (position < found.completeAfter || position > found.position) {
      viewer.missed(found.position);
      return;
    }
    const news = new Map(changed.map(({ document }) => [document.id, document]));
    for (const { document, position: at } of fresh) if (at > position) news.set(document.id, document);
    if (news.size > 0) viewer.changed(found.position, [...news.values()]);
  }

  #remember(found: TailDeliveriesResponse, told: readonly Placed[]): void {
    const present = new Set(found.known.map(({ delivery }) => delivery?.id));
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id);
    for (const { document, json } of told) this.#known.set(document.id, json);
    const tooMany = this.#known.size - mostKnown;
    for (const id of [...this.#known.keys()].sort().slice(0, Math.max(0, tooMany))) this.#known.delete(id);
  }
}

interface Placed {
  readonly document: DeliveryDocument;
  readonly json: string;
  readonly position: bigint;
}

function toPlaced(tailed: TailedDelivery): Placed[] {
  const document = tailedDocument(tailed);
  return document ? [{ document, json: JSON.stringify(document), position: tailed.position }] : [];
}
