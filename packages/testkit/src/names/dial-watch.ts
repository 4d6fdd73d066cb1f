import { Socket } from 'node:net';

/**
 * Records every TCP connection that this process starts, whether or not it succeeds. Connections of gRPC clients are
 * excluded: a client that is waiting to reconnect when it is closed dials once more, possibly during another test.
 */
export interface DialWatch {
  readonly dialed: readonly { readonly address: string; readonly port: number }[];
  /** Returns the connections to ports other than `ports`. */
  additional(...ports: number[]): string[];
  stop(): void;
}

export function watchDials(): DialWatch {
  const dialed: { address: string; port: number }[] = [];
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...args: never[]) {
    const ofGrpc = new Error().stack?.includes('/@grpc/grpc-js/') ?? false;
    if (!ofGrpc) this.on('connectionAttempt', (address: string, port: number) => dialed.push({ address, port }));
    return Reflect.apply(connect, this, args);
  } as typeof connect;
  return {
    dialed,
    additional: (...ports) =>
      dialed.filter(({ port }) => !ports.includes(port)).map(({ address, port }) => `${address} port ${port}`),
    stop() {
      Socket.prototype.connect = connect;
    },
  };
}
