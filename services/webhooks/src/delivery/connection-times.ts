import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { Timings } from './job.ts';

/** What making a connection took, in milliseconds. */
export type ConnectTimes = Pick<Timings, 'dns' | 'connect' | 'tls'>;

const none: ConnectTimes = { dns: 0, connect: 0, tls: 0 };
/** Of connections whose first request has not been sent yet. */
const unclaimed = new WeakMap<Socket, ConnectTimes>();
const addresses = new WeakMap<Socket, string>();
/** What connections broke by: the first error of each, of which later ones are a consequence. */
const broken = new WeakMap<Socket, Error>();
const watched = new WeakMap<object, Watch>();
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
  unclaimed.set(socket, times);
  if (address) addresses.set(socket, address);
  socket.once('error', (error) => broken.set(socket, error));
}

/** Measures a connection that is being made, from now on. */
export function measureConnect() {
  const beganAtMs = performance.now();
  let resolvedAtMs = beganAtMs;
  let connectedAtMs: number | undefined;
  return {
    watch(socket: Socket | undefined): void {
      socket?.once('lookup', () => {
        resolvedAtMs = performance.now();
      });
      socket?.once('connect', () => {
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
  if (beginning) watched.set((message as { request: object }).request, beginning);
});
diagnostics.subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as { request: object; socket: Socket };
  const watch = watched.get(request);
  if (!watch) return;
  watch.sentAtMs = performance.now();
  watch.address = addresses.get(socket);
  watch.brokenBy = () => broken.get(socket);
  watch.times = unclaimed.get(socket) ?? none;
  unclaimed.delete(socket);
});
