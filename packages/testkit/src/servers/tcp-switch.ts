import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback whose target can change for new connections, as the address of a cluster does. */
export interface TcpSwitch {
  readonly port: number;
  /** Sends new connections to another port of loopback. Open connections keep their target. */
  sendTo(port: number): void;
  /** Closes all connections. */
  close(): Promise<void>;
}

export async function startTcpSwitch(firstPort: number): Promise<TcpSwitch> {
  let target = firstPort;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sendTo(port) {
      target = port;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
