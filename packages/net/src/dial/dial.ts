import { isIP, Socket } from 'node:net';
import { type AddressListener, findAddresses, type Resolve, type SelectAddresses } from './find-addresses.ts';

export interface DialOptions {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly resolve: Resolve;
  /** For resolving and connecting together. */
  readonly timeoutMs: number;
  /** The kind of addresses that is dialed first; default: that of the address that was found first. */
  readonly firstFamily?: 4 | 6;
  /** Default: all addresses of the name. */
  readonly select?: SelectAddresses;
  /** Returns the reason to close a connection to this address. */
  readonly refuse?: (address: string | undefined) => Error | undefined;
  /** Whether the socket stays open for writing after the other side ends. Defaults to false. */
  readonly allowHalfOpen?: boolean | undefined;
  /** Called when the first address is dialed. */
  readonly onResolved?: (() => void) | undefined;
  /** Ends the attempts. The promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Time until the next address is dialed as well (RFC 8305, section 5). */
const attemptDelayMs = 250;

/**
 * Opens a TCP connection to a host. Dials exactly the selected addresses, and the first connection wins (RFC 8305). No
 * attempt ends because another one has started: only `timeoutMs` and `signal` end them. Rejects with the cause; with
 * ETIMEDOUT after `timeoutMs`, or DNS_FAILED if no address was known by then.
 */
export function dial(options: DialOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    new Race(options, resolve, reject).start();
  });
}

/** One race between a host's addresses. */
class Race implements AddressListener {
  readonly #options: DialOptions;
  readonly #resolve: (socket: Socket) => void;
  readonly #reject: (error: Error) => void;
  readonly #untried: Record<4 | 6, string[]> = { 4: [], 6: [] };
  readonly #sockets = new Set<Socket>();
  #nextFamily: 4 | 6 | undefined;
  #hasBegun = false;
  #isComplete = false;
  /** Whether the delay since the last attempt has passed, so that a new address is dialed immediately. */
  #isDue = false;
  #error: Error | undefined;
  #stopFinding = () => {};
  #deadline: NodeJS.Timeout | undefined;
  #delay: NodeJS.Timeout | undefined;
  readonly #abort = () => this.#fail(this.#options.signal?.reason);

  constructor(options: DialOptions, resolve: (socket: Socket) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#nextFamily = options.firstFamily;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { host, timeoutMs, signal } = this.#options;
    if (signal?.aborted) {
      this.#reject(signal.reason);
      return;
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.#deadline = setTimeout(() => {
      const isConnecting = this.#sockets.size > 0;
      this.#fail((isConnecting ? undefined : this.#error) ?? this.#timeout());
    }, timeoutMs);
    this.#stopFinding = findAddresses(host, this.#options, this);
  }

  add(addresses: readonly string[]): void {
    for (const address of addresses) {
      const family = isIP(address) as 4 | 6;
      this.#nextFamily ??= family;
      this.#untried[family].push(address);
    }
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

  reject(error: Error): void {
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
    const family = this.#nextFamily ?? 4;
    const other = family === 4 ? 6 : 4;
    const address = this.#untried[family].shift();
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
    socket.connect({ host: address, port: this.#options.port });
  }

  #connected(socket: Socket): void {
    // The race may be over.
    if (!this.#sockets.delete(socket)) return;
    const refusal = this.#options.refuse?.(socket.remoteAddress);
    if (refusal) {
      socket.destroy();
      this.#fail(refusal);
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
    this.#options.signal?.removeEventListener('abort', this.#abort);
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
