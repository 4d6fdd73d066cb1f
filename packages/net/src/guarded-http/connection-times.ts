import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/**
 * Time spent on each step of connecting, in milliseconds. With an egress proxy, `connect` covers everything until the
 * proxy has connected, and `dns` is 0.
 */
export interface ConnectTimes {
  readonly dns: number;
  readonly connect: number;
  readonly tls: number;
}

/** Times of a request over a connection that was already open, or over none. */
export const notConnected: ConnectTimes = { dns: 0, connect: 0, tls: 0 };

/** State of a connection. */
interface Connection {
  /** Connect times that no request has claimed yet. The first request sent over the connection claims them. */
  unclaimed: ConnectTimes | undefined;
  readonly address: string | undefined;
  /** The first error of the connection. Later errors are its consequences. */
  brokenBy: Error | undefined;
  /** The first bytes that arrived since the latest request was sent; undefined when they are no longer needed. */
  received: Buffer[] | undefined;
  receivedBytes: number;
}

/** The parser accepts a head of up to this size. */
export const headLimitBytes = 16 * 1024;

// Kept on the socket and the request themselves: V8 frees WeakMap entries only in a major collection.
const connectionOf = Symbol('connection');
const watchOf = Symbol('watch');
type Connected = Socket & { [connectionOf]?: Connection };
type Watched = object & { [watchOf]?: Watch };
let beginning: Watch | undefined;
let isObserving = false;

/** Observes the connection that a request is sent over. */
export interface Watch {
  sentAtMs: number | undefined;
  /** Time spent connecting for this request; zero if the connection was already open. */
  times: ConnectTimes;
  address: string | undefined;
  /** Whether the connection was open before, so that the endpoint may have closed it while the request was sent. */
  isReused: boolean;
  /** Returns whether any byte of the response arrived. */
  hasResponse(): boolean;
  /**
   * Returns the first bytes of the response, at least a head's size. Must be called when the request ends,
   * because the connection keeps them until then.
   */
  takeReceived(): readonly Buffer[];
  /** Returns the error that broke the connection, or undefined. */
  brokenBy(): Error | undefined;
}

/**
 * Stores the connect times of a connection, which the first request sent over it claims, and tracks its first error.
 * @param address the endpoint's address; undefined if an egress proxy dialed it and did not report it
 */
export function noteConnected(socket: Socket, times: ConnectTimes, address: string | undefined): void {
  const connection: Connection = {
    unclaimed: times,
    address,
    brokenBy: undefined,
    received: undefined,
    receivedBytes: 0,
  };
  (socket as Connected)[connectionOf] = connection;
  keepReceived(socket, connection);
  socket.once('error', (error) => {
    connection.brokenBy = error;
  });
}

const continues = Buffer.from('HTTP/1.1 100');
const processing = Buffer.from('HTTP/1.1 102');

/**
 * Keeps references to the bytes that undici reads from the socket. Its parser discards a head that it does not accept.
 *
 * Shows undici a `100 Continue` before the response as 102, which it skips. It would close the connection on 100, which
 * a client must accept even if it has not asked for it (RFC 9110, 15.2).
 */
function keepReceived(socket: Socket, connection: Connection): void {
  const { read } = socket;
  socket.read = (size?: number) => {
    const chunk: Buffer | null = read.call(socket, size);
    if (chunk === null || !connection.received || connection.receivedBytes >= headLimitBytes) return chunk;
    const isFirst = connection.receivedBytes === 0;
    connection.received.push(chunk);
    connection.receivedBytes += chunk.length;
    if (!isFirst || !chunk.subarray(0, continues.length).equals(continues)) return chunk;
    return Buffer.concat([processing, chunk.subarray(continues.length)]);
  };
}

function receiveAgain(connection: Connection): () => readonly Buffer[] {
  const received: Buffer[] = [];
  connection.received = received;
  connection.receivedBytes = 0;
  return () => {
    if (connection.received === received) connection.received = undefined;
    return received;
  };
}

/** The steps of opening a connection, in order. */
type ConnectPhase = keyof ConnectTimes;

/** Measures how a connection is opened. */
export class ConnectClock {
  readonly #startedAtMs = performance.now();
  #resolvedAtMs: number | undefined;
  #connectedAtMs: number | undefined;
  readonly #isTls: boolean;

  /** @param isTls whether a TLS handshake follows; without one, its time is 0 */
  constructor(isTls: boolean) {
    this.#isTls = isTls;
  }

  /** The step in progress. */
  get phase(): ConnectPhase {
    if (this.#connectedAtMs !== undefined) return 'tls';
    return this.#resolvedAtMs === undefined ? 'dns' : 'connect';
  }

  resolved(): void {
    this.#resolvedAtMs = performance.now();
  }

  /** Call it when an egress proxy resolves the name. The proxy reports resolving and connecting as one step. */
  resolvedByProxy(): void {
    this.#resolvedAtMs = this.#startedAtMs;
  }

  connected(): void {
    this.#connectedAtMs = performance.now();
  }

  /** Returns the times until now. */
  times(): ConnectTimes {
    const nowMs = performance.now();
    const resolved = this.#resolvedAtMs ?? nowMs;
    const connected = this.#connectedAtMs ?? nowMs;
    return {
      dns: rounded(resolved - this.#startedAtMs),
      connect: rounded(connected - resolved),
      tls: this.#isTls ? rounded(nowMs - connected) : 0,
    };
  }
}

/** Thrown if a connection could not be opened. It has the code and the cause's message. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: string;
  readonly phase: ConnectPhase;
  readonly times: ConnectTimes;

  constructor(cause: NodeJS.ErrnoException, clock: ConnectClock) {
    super(cause.message, { cause });
    this.code = cause.code ?? '';
    this.phase = clock.phase;
    this.times = clock.times();
  }
}

/** Rounds to tenths of a millisecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Starts an undici request by calling `begin`, and observes the connection that it is sent over. */
export function watchRequest(begin: () => void): Watch {
  if (!isObserving) observeRequests();
  const watch: Watch = {
    sentAtMs: undefined,
    times: notConnected,
    address: undefined,
    isReused: false,
    hasResponse: () => false,
    takeReceived: () => [],
    brokenBy: () => undefined,
  };
  beginning = watch;
  try {
    begin();
    return watch;
  } finally {
    beginning = undefined;
  }
}

/**
 * Subscribes to the diagnostics of undici, until the process exits. undici publishes both events synchronously:
 * 'request:create' inside the call that starts a request, 'sendHeaders' when the headers are written to a socket.
 */
function observeRequests(): void {
  isObserving = true;
  diagnostics.subscribe('undici:request:create', (message) => {
    if (beginning) (message as { request: Watched }).request[watchOf] = beginning;
  });
  diagnostics.subscribe('undici:client:sendHeaders', (message) => {
    const { request, socket } = message as { request: Watched; socket: Connected };
    const watch = request[watchOf];
    if (!watch) return;
    const connection = socket[connectionOf];
    watch.sentAtMs = performance.now();
    watch.address = connection?.address;
    watch.brokenBy = () => connection?.brokenBy;
    watch.isReused = connection !== undefined && connection.unclaimed === undefined;
    const readBytes = socket.bytesRead;
    watch.hasResponse = () => socket.bytesRead > readBytes;
    if (connection) watch.takeReceived = receiveAgain(connection);
    watch.times = connection?.unclaimed ?? notConnected;
    if (connection) connection.unclaimed = undefined;
  });
}
