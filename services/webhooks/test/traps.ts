import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';

/** A listener on all addresses of this machine, IPv4 and IPv6, that nobody may reach. */
export interface Trap {
  readonly port: number;
  /** The addresses of this machine at which it was reached. */
  readonly reachedAt: readonly string[];
  close(): Promise<void>;
}

export async function startTrap(): Promise<Trap> {
  const reachedAt: string[] = [];
  const server = createServer((socket) => {
    reachedAt.push(socket.localAddress ?? '');
    socket.on('error', () => {}).destroy();
  });
  // "::", which takes IPv4 as well; 0.0.0.0 where there is no IPv6.
  server.listen(0);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    reachedAt,
    async close() {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/**
 * Every connection over TCP that this process begins, from now on: what was reached, and what never answered. Those of gRPC
 * clients are left out: one that waits to reconnect as it is closed still dials once, when another test file may be watching.
 */
export interface DialWatch {
  readonly dialled: readonly { readonly address: string; readonly port: number }[];
  /** Those to other ports than these. */
  besides(...ports: number[]): string[];
  stop(): void;
}

export function watchDials(): DialWatch {
  const dialled: { address: string; port: number }[] = [];
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...args: never[]) {
    const ofGrpc = new Error().stack?.includes('/@grpc/grpc-js/') ?? false;
    if (!ofGrpc) this.on('connectionAttempt', (address: string, port: number) => dialled.push({ address, port }));
    return Reflect.apply(connect, this, args);
  } as typeof connect;
  return {
    dialled,
    besides: (...ports) =>
      dialled.filter(({ port }) => !ports.includes(port)).map(({ address, port }) => `${address} port ${port}`),
    stop() {
      Socket.prototype.connect = connect;
    },
  };
}
