const mib = 1024 * 1024;
/** Memory of a received chunk besides its bytes. A body can arrive in chunks of a single byte. */
const chunkOverheadBytes = 200;

/** A request body that has not arrived completely. */
export interface UnfinishedBody {
  readonly owners: readonly string[];
  /** Memory of its chunks, in bytes. */
  size: number;
  /** Discards the body; its request gets 503. */
  readonly refuse: () => void;
}

/**
 * Limits the memory of request bodies that have not arrived completely, per owner and in total. Owners are client
 * networks and workspaces. Beyond a limit, the largest body of the owner is refused: in total, of the owner with the
 * most. Clients with few or small bodies are therefore not affected by a client that sends slowly on many connections.
 */
export class BodyBudget {
  readonly #ownerBytes: number;
  readonly #totalBytes: number;
  readonly #bodies = new Set<UnfinishedBody>();
  /** Memory by owner. */
  readonly #sizes = new Map<string, number>();
  #total = 0;

  constructor({ ownerBytes = 16 * mib, totalBytes = 64 * mib } = {}) {
    this.#ownerBytes = ownerBytes;
    this.#totalBytes = totalBytes;
  }

  /** Adds a body without data. The caller closes it when it has arrived or failed. */
  open(owners: readonly string[], refuse: () => void): UnfinishedBody {
    const body = { owners, size: 0, refuse };
    this.#bodies.add(body);
    return body;
  }

  /** Counts a chunk, and refuses bodies until no limit is exceeded; this one can be among them. */
  receive(body: UnfinishedBody, bytes: number): void {
    this.#resize(body, body.size + bytes + chunkOverheadBytes);
    for (const owner of body.owners) {
      while ((this.#sizes.get(owner) ?? 0) > this.#ownerBytes) this.#refuseLargest(owner);
    }
    while (this.#total > this.#totalBytes) this.#refuseLargest(this.#heaviest());
  }

  /** Idempotent. */
  close(body: UnfinishedBody): void {
    this.#resize(body, 0);
    this.#bodies.delete(body);
  }

  #resize(body: UnfinishedBody, size: number): void {
    const added = size - body.size;
    body.size = size;
    this.#total += added;
    for (const owner of body.owners) {
      const rest = (this.#sizes.get(owner) ?? 0) + added;
      if (rest > 0) this.#sizes.set(owner, rest);
      else this.#sizes.delete(owner);
    }
  }

  #heaviest(): string {
    let [heaviest, most] = ['', 0];
    for (const [owner, size] of this.#sizes) if (size > most) [heaviest, most] = [owner, size];
    return heaviest;
  }

  #refuseLargest(owner: string): void {
    let largest: UnfinishedBody | undefined;
    for (const body of this.#bodies) {
      if (body.owners.includes(owner) && body.size > (largest?.size ?? 0)) largest = body;
    }
    if (!largest) throw new Error(`no unfinished body of ${owner}`);
    this.close(largest);
    largest.refuse();
  }
}
