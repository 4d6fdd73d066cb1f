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

/** The times of a request over a connection that was already open, or over none. */
export const notConnected: ConnectTimes = { dns: 0, connect: 0, tls: 0 };

/** State of a connection. */
interface Connection {
  /** Connect times that no request has claimed yet. The first request sent over the connection claims them. */
  unclaimed: ConnectTimes | undefined;
  readonly address: string | undefined;
  /** The first error of the connection. Later errors are its consequences. */
  brokenBy: Error | undefined;
}

// Kept on the socket and the request themselves: V8 frees the entries of a WeakMap only in a major collection.
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
  /** Returns the error that broke the connection, or undefined. */
  brokenBy(): Error | undefined;
}

/**
 * Stores the connect times of a connection, which the first request sent over it claims, and tracks its first error.
 * @param address the endpoint's address; undefined if an egress proxy dialed it and did not report it
 */
export function noteConnected(socket: Socket, times: ConnectTimes, address: string | undefined): void {
  const connection: Connection = { unclaimed: times, address, brokenBy: undefined };
  (socket as Connected)[connectionOf] = connection;
  socket.once('error', (error) => {
    connection.brokenBy = error;
  });
}

/** Starts measuring a connection attempt. */
export function measureConnect() {
  const startedAtMs = performance.now();
  let resolvedAtMs = startedAtMs;
  let connectedAtMs: number | undefined;
  return {
    watch(socket: Socket): void {
      socket.once('lookup', () => {
        resolvedAtMs = performance.now();
      });
      socket.once('connect', () => {
        connectedAtMs = performance.now();
      });
    },
    /** Call it when an egress proxy has resolved the name and connected. The proxy reports both steps as one. */
    tunneled(): void {
      connectedAtMs = performance.now();
    },
    /** Returns the times. Call it when the connection is ready. */
    times(): ConnectTimes {
      const nowMs = performance.now();
      const connected = connectedAtMs ?? nowMs;
      return {
        dns: rounded(resolvedAtMs - startedAtMs),
        connect: rounded(connected - resolvedAtMs),
        tls: rounded(nowMs - connected),
      };
    },
  };
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
 * Subscribes to the diagnostics of undici, for the rest of the process. undici publishes both events synchronously:
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
    watch.times = connection?.unclaimed ?? notConnected;
    if (connection) connection.unclaimed = undefined;
  });
}
