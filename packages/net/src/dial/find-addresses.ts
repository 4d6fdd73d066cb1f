import { isIP } from 'node:net';

/** Time to wait for the other kind of addresses after the first one is known (RFC 8305, section 3). */
const resolutionDelayMs = 50;

/**
 * Resolves a name. Each promise is for one kind of address and fulfills with the addresses, or with none if the name has
 * none of this kind. It rejects if no server responds.
 */
export type Resolve = (name: string) => readonly Promise<readonly string[]>[];

/**
 * Returns a name's addresses that may be dialed. Throws if the name must not be dialed at all.
 * @param found the addresses that have just been found
 * @param earlier those found before
 */
export type SelectAddresses = (host: string, found: readonly string[], earlier: readonly string[]) => readonly string[];

/** Receives a host's addresses. */
export interface AddressListener {
  /** Called when dialing may begin: all addresses are known, or some are and the others are late. */
  begin(): void;
  /** Called with selected addresses, before `begin` or after it. */
  add(addresses: readonly string[]): void;
  /** Called once if no further addresses follow, with the reason if there were none at all. */
  complete(reason?: Error): void;
  /** Called if the host must not be dialed. No other call follows. */
  reject(error: Error): void;
}

const selectAll: SelectAddresses = (_host, found) => found;

/**
 * Finds a host's addresses, and passes on only selected ones. Addresses that arrive after dialing began are
 * selected likewise.
 * @param host a name or an IP address, which is not selected
 * @returns a function that ends the calls to the listener
 */
export function findAddresses(
  host: string,
  { resolve, select = selectAll }: { resolve: Resolve; select?: SelectAddresses | undefined },
  listener: AddressListener,
): () => void {
  if (isIP(host) !== 0) {
    listener.add([host]);
    listener.begin();
    listener.complete();
    return () => {};
  }
  let isOver = false;
  let hasBegun = false;
  let delay: NodeJS.Timeout | undefined;
  let isUsable = false;
  let failure: Error | undefined;
  const found: string[] = [];
  const stop = () => {
    isOver = true;
    clearTimeout(delay);
  };
  const begin = () => {
    clearTimeout(delay);
    if (!hasBegun) listener.begin();
    hasBegun = true;
  };
  const answers = resolve(host);
  let missing = answers.length;
  const note = (addresses: readonly string[], error?: Error) => {
    if (isOver) return;
    missing -= 1;
    failure ??= error;
    let usable: readonly string[];
    try {
      usable = select(host, addresses, found);
    } catch (reason) {
      stop();
      return listener.reject(reason as Error);
    }
    found.push(...addresses);
    if (usable.length > 0) {
      isUsable = true;
      listener.add(usable);
    }
    if (missing === 0) {
      stop();
      if (isUsable) begin();
      listener.complete(isUsable ? undefined : (failure ?? noAddress(host)));
    } else if (isUsable) {
      delay ??= setTimeout(begin, resolutionDelayMs);
    }
  };
  for (const answer of answers) answer.then(note, (error: Error) => note([], error));
  return stop;
}

function noAddress(host: string): Error {
  return Object.assign(new Error(`no address for ${host}`), { code: 'ENOTFOUND' });
}
