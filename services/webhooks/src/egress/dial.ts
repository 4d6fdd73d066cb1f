import { isIP, Socket } from 'node:net';
import { type AddressListener, findAddresses } from './addresses-of.ts';
import { BlockedAddressError, blockedBy, type EgressGuard, hostOf, portOf, type Target } from './guard.ts';
import type { Resolve } from './resolve.ts';

export interface DialOptions {
  readonly guard: EgressGuard;
  readonly resolve: Resolve;
  /** For resolving and connecting together. */
  readonly timeoutMs: number;
  /** Whether the socket stays open for writing after the other side has ended. Defaults to false. */
  readonly allowHalfOpen?: boolean;
  /** Called when the first address is dialed. */
  readonly onResolved?: () => void;
}

/** Time after which the next address is dialed as well (RFC 8305, section 5). */
const attemptDelayMs = 250;

/**
 * Opens a TCP connection if the guard permits the target. Dials exactly the addresses that the guard has checked, and
 * the first connection wins (RFC 8305). No attempt ends because another one has started: only `timeoutMs` ends them.
 * Rejects with the cause; with ETIMEDOUT after `timeoutMs`, or DNS_FAILED if no address was known by then.
 *
 * IPv4 is dialed first, unlike in RFC 8305: receivers permit the IPv4 addresses of senders in their firewalls.
 */
export function dial(target: Target, options: DialOptions): Promise<Socket> {
  const refusal = options.guard.refusal(target);
  if (refusal) return Promise.reject(blockedBy(refusal, target));
  return new Promise((resolve, reject) => {
    new Race(target, options, resolve, reject).start();
  });
}

/** One race between the addresses of a target. */
class Race implements AddressListener {
  readonly #host: string;
  readonly #port: number;
  readonly #options: DialOptions;
  readonly #resolve: (socket: Socket) => void;
  readonly #reject: (error: Error) => void;
  readonly #untried: Record<4 | 6, string[]> = { 4: [], 6: [] };
  readonly #sockets = new Set<Socket>();
  #nextFamily: 4 | 6 = 4;
  #hasBegun = false;
  #isComplete = false;
  /** Whether the delay since the last attempt has passed, so that a new address is dialed immediately. */
  #isDue = false;
  #error: Error | undefined;
  #stopFinding = () => {};
  #deadline: NodeJS.Timeout | undefined;
  #delay: NodeJS.Timeout | undefined;

  constructor(target: Target, options: DialOptions, resolve: (socket: Socket) => void, reject: (error: Error) => void) {
    this.#host = hostOf(target.hostname);
    this.#port = Number(portOf(target));
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    this.#deadline = setTimeout(() => {
      const isConnecting = this.#sockets.size > 0;
      this.#fail((isConnecting ? undefined : this.#error) ?? this.#timeout());
    }, this.#options.timeoutMs);
    this.#stopFinding = findAddresses(this.#host, this.#options, this);
  }

  add(addresses: readonly string[]): void {
    for (const address of addresses) this.#untried[isIP(address) as 4 | 6].push(address);
    if (this.#isDue) this.#dialNext();
  }

  begin(): void {
    this.#hasBegun = true;
    this.#options.onResolved?.();
    this.#dialNext();
  }

  complete(reason?: Error): void {
    this.#isComplete = true;
    this.#error ??= reason;
    this.#failIfOver();
  }

  reject(error: BlockedAddressError): void {
    this.#fail(error);
  }

  #dialNext(): void {
    clearTimeout(this.#delay);
    const address = this.#take();
    this.#isDue = address === undefined;
    if (address === undefined) {
      this.#failIfOver();
      return;
    }
    this.#dial(address);
    // Without another address, the timer would do nothing.
    if (!this.#isComplete || this.#hasUntried()) this.#delay = setTimeout(() => this.#dialNext(), attemptDelayMs);
  }

  #hasUntried(): boolean {
    return this.#untried[4].length + this.#untried[6].length > 0;
  }

  /** Takes the next address, alternating between the families. */
  #take(): string | undefined {
    const other = this.#nextFamily === 4 ? 6 : 4;
    const address = this.#untried[this.#nextFamily].shift();
    if (address === undefined) return this.#untried[other].shift();
    this.#nextFamily = other;
    return address;
  }

  #dial(address: string): void {
    // Avoids net.connect(): for its options object, V8 creates new hidden classes on every call, which only a major
    // collection frees.
    const socket = this.#options.allowHalfOpen ? new Socket({ allowHalfOpen: true }) : new Socket();
    this.#sockets.add(socket);
    socket.once('error', (error) => {
      if (!this.#sockets.delete(socket)) return;
      this.#error = clearer(this.#error, error);
      this.#dialNext();
    });
    socket.once('connect', () => this.#connected(socket));
    socket.connect({ host: address, port: this.#port });
  }

  #connected(socket: Socket): void {
    // The race may be over.
    if (!this.#sockets.delete(socket)) return;
    const peer = socket.remoteAddress;
    if (!peer || !this.#options.guard.permitted(peer)) {
      socket.destroy();
      this.#fail(new BlockedAddressError('connected to an address that is not public', peer ? [peer] : []));
      return;
    }
    this.#end();
    this.#resolve(socket.setNoDelay(true));
  }

  #failIfOver(): void {
    if (this.#isComplete && this.#sockets.size === 0 && !this.#hasUntried() && this.#error) this.#fail(this.#error);
  }

  #fail(error: Error): void {
    this.#end();
    this.#reject(error);
  }

  /** Ends everything except the socket that won. */
  #end(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#delay);
    this.#isDue = false;
    this.#stopFinding();
    const sockets = [...this.#sockets];
    this.#sockets.clear();
    for (const socket of sockets) socket.on('error', () => {}).destroy();
  }

  #timeout(): Error {
    const code = this.#hasBegun ? 'ETIMEDOUT' : 'DNS_FAILED';
    return Object.assign(new Error('timed out'), { code });
  }
}

/** Prefers an error of the endpoint to the error that this machine has no route. */
function clearer(known: NodeJS.ErrnoException | undefined, error: NodeJS.ErrnoException): Error {
  return !known || /^E(?:NET|HOST)UNREACH$|^EADDRNOTAVAIL$/.test(known.code ?? '') ? error : known;
}
