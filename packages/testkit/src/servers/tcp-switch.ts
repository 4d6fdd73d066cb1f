import { connect, createServer } from 'node:net';
import { listenOnLoopback } from './loopback-server.ts';

/** A TCP proxy on loopback with a target that can change for new connections, as a cluster's address does. */
export interface TcpSwitch {
  readonly port: number;
  /** Sends new connections to another port of loopback. Open connections keep their target. */
  sendTo(port: number): void;
  /** Closes all connections. */
  close(): Promise<void>;
}

export async function startTcpSwitch(firstPort: number): Promise<TcpSwitch> {
  let target = firstPort;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => other.destroy());
      socket.pipe(other);
    }
  });
  const { port, close } = await listenOnLoopback(server);
  return {
    port,
    sendTo(port) {
      target = port;
    },
    close,
  };
}
