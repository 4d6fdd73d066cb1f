import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { Timings } from './job.ts';

/** What making a connection took, in milliseconds. */
export type ConnectTimes = Pick<Timings, 'dns' | 'connect' | 'tls'>;

const none: ConnectTimes = { dns: 0, connect: 0, tls: 0 };

/** What is known of a connection. */
interface Connection {
  /** Until its first request has been sent. */
  unclaimed: ConnectTimes | undefined;
  readonly address: string | undefined;
  /** What it broke by: its first error, of which later ones are a consequence. */
  brokenBy: Error | undefined;
}

// Kept on the socket and the request themselves: of what a WeakMap holds, V8 frees nothing until a major collection.
const connectionOf = Symbol('connection');
const watchOf = Symbol('watch');
type Connected = Socket & { [connectionOf]?: Connection };
type Watched = object & { [watchOf]?: Watch };
let beginning: Watch | undefined;

/** Which connection a request went out by. */
export interface Watch {
  sentAtMs: number | undefined;
  /** Spent on the connection for this request; zero if it was open already. */
  times: ConnectTimes;
  address: string | undefined;
  /** What its connection broke by; undefined: it did not, or there was none. */
  brokenBy(): Error | undefined;
}

/**
 * Notes what a connection took, which the first request that goes out by it counts as its own; and what it breaks by.
 * @param address of the endpoint; undefined: an egress proxy dialled it and does not tell
 */
export function noteConnected(socket: Socket, times: ConnectTimes, address: string | undefined): void {
  const connection: Connection = { unclaimed: times, address, brokenBy: undefined };
  (socket as Connected)[connectionOf] = connection;
  socket.once('error', (error) => {
    connection.brokenBy = error;
  });
}

/** Measures a connection that is being made, from now on. */
export function measureConnect() {
  const beganAtMs = performance.now();
  let resolvedAtMs = beganAtMs;
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
    /** An egress proxy has resolved the name and connected: it tells the two as one. */
    tunnelled(): void {
      connectedAtMs = performance.now();
    },
    /** Once it has been made. */
    times(): ConnectTimes {
      const nowMs = performance.now();
      const connected = connectedAtMs ?? nowMs;
      return {
        dns: rounded(resolvedAtMs - beganAtMs),
        connect: rounded(connected - resolvedAtMs),
        tls: rounded(nowMs - connected),
      };
    },
  };
}

/** Tenths of a millisecond. */
export function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Begins a request of undici, in `begin`, and tells which connection it goes out by. */
export function watchRequest<T>(begin: () => T): { watch: Watch; begun: T } {
  const watch: Watch = { sentAtMs: undefined, times: none, address: undefined, brokenBy: () => undefined };
  beginning = watch;
  try {
    return { watch, begun: begin() };
  } finally {
    beginning = undefined;
  }
}

// undici says both synchronously: a request is made inside the call that begins it, and its head is written to a socket.
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
  watch.times = connection?.unclaimed ?? none;
  if (connection) connection.unclaimed = undefined;
});
