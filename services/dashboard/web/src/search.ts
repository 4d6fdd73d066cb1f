/** Search parameters of a page: strings by name. */
export type TextSearch = Readonly<Record<string, string>>;

/** Parses the search part of a URL. Every value is a string. A repeated parameter keeps its last value. */
export function parseSearch(search: string): TextSearch {
  return Object.fromEntries(new URLSearchParams(search));
}

/** Formats search parameters ("?live=1"), without empty ones. Returns an empty string if none remain. */
export function formatSearch(search: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the named search parameters. Empty parameters are omitted. */
export function textSearch<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [Key in Name]?: string } => {
    const found: { [Key in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      // A link in the code can set values of other types.
      if (value !== undefined && value !== null && value !== '' && typeof value !== 'object')
        found[name] = String(value);
    }
    return found;
  };
}

/** Returns the search parameters that are not empty. */
export function withoutEmpty<T extends Record<string, string | undefined>>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value)) as T;
}

/** Reads the search parameters of the webhook list, in the dashboard and in the portal. */
export const webhookSearch = textSearch('url', 'status', 'health', 'cursor');

/** Reads the search parameters of the delivery list, in the dashboard and in the portal. */
export const deliverySearch = textSearch(
  'webhook',
  'status',
  'type',
  'request',
  'resource',
  'event',
  'test',
  'since',
  'until',
  'cursor',
  'live',
);

/**
 * Parses the environment in a page's path. `test` means the sandbox, as in the CLI and in the prefix of sandbox
 * keys. undefined: the name is unknown.
 */
export function environmentOf(name: string): 'live' | 'sandbox' | undefined {
  if (name === 'live' || name === 'sandbox') return name;
  return name === 'test' ? 'sandbox' : undefined;
}
