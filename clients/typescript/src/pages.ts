import { type CallOptions, delay, type Query, searchOf, type Transport } from './transport.ts';

/** A list document. */
interface ListDocument<Item, Meta> {
  readonly data: readonly Item[];
  readonly meta: Meta;
  readonly links: { readonly next: string | null; readonly prev: string | null };
}

/** Items of a page unless the caller chooses a number: the maximum, for the fewest requests. */
const itemsPerRequest = 100;
/** A request per second is 1 % of a key's default limit. */
const defaultPollMs = 1_000;

/** A list page. */
export class Page<Item, Meta> {
  /** Can be empty although there is a next page. */
  readonly data: readonly Item[];
  readonly meta: Meta;
  readonly links: ListDocument<Item, Meta>['links'];
  readonly #read: (search: string) => Promise<Page<Item, Meta>>;

  constructor({ data, meta, links }: ListDocument<Item, Meta>, read: (search: string) => Promise<Page<Item, Meta>>) {
    this.data = data;
    this.meta = meta;
    this.links = links;
    this.#read = read;
  }

  /** Reads the next page. Resolves with undefined after the last one. */
  next(): Promise<Page<Item, Meta> | undefined> {
    return this.#follow(this.links.next);
  }

  /** Reads the previous page. Resolves with undefined before the first one, and if the list can only be read forward. */
  previous(): Promise<Page<Item, Meta> | undefined> {
    return this.#follow(this.links.prev);
  }

  async #follow(link: string | null): Promise<Page<Item, Meta> | undefined> {
    // Only its query is used: the key is sent to no other address than the client's.
    return link === null ? undefined : this.#read(new URL(link).search);
  }
}

/** A list, which is read when it is iterated, page after page: `for await (const item of list)`. */
export class List<Item, Meta> implements AsyncIterable<Item> {
  readonly #query: Query;
  readonly #read: (search: string) => Promise<Page<Item, Meta>>;

  constructor(transport: Transport, path: string, query: Query, options: CallOptions | undefined) {
    this.#query = query;
    this.#read = async (search) => {
      const { document } = await transport.request('GET', `${path}${search}`, { options });
      return new Page(document as ListDocument<Item, Meta>, this.#read);
    };
  }

  /** Reads the first page, with 20 items unless the query has `per_page`. */
  page(): Promise<Page<Item, Meta>> {
    return this.#read(searchOf(this.#query));
  }

  /** Yields all items. Holds one page in memory. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page: Page<Item, Meta> | undefined = await this.#read(searchOf({ per_page: itemsPerRequest, ...this.#query }));
    while (page) {
      yield* page.data;
      page = await page.next();
    }
  }
}

/** Settings of an iteration over the event feed. */
export interface FeedOptions extends CallOptions {
  /** Sequence of the last event that was processed. Default: 0, which begins with the oldest stored event. */
  readonly after?: number | undefined;
  /** Whether to wait for new events without end. Default: the iteration ends after the newest event. */
  readonly follow?: boolean | undefined;
  /** Milliseconds between requests while there are no new events. Default: 1,000. */
  readonly pollInterval?: number | undefined;
}

/** Yields a feed's events in order, from the first one after `after`. */
export async function* readFeed<Item extends { readonly sequence: number }>(
  transport: Transport,
  path: string,
  { after = 0, follow = false, pollInterval = defaultPollMs, ...options }: FeedOptions,
): AsyncGenerator<Item, void, undefined> {
  let position = after;
  for (;;) {
    const query = { after: position, per_page: itemsPerRequest };
    const { document } = await transport.request('GET', path, { options, query });
    const { data, links } = document as ListDocument<Item, object>;
    for (const event of data) {
      yield event;
      position = event.sequence;
    }
    if (links.next !== null && data.length > 0) continue;
    if (!follow) return;
    await delay(pollInterval, options.signal);
  }
}
