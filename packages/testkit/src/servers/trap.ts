import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A listener on all IPv4 and IPv6 addresses of this machine that must never be reached. */
export interface Trap {
  readonly port: number;
  /** The addresses of this machine that received a connection. */
  readonly reachedAt: readonly string[];
  close(): Promise<void>;
}

export async function startTrap(): Promise<Trap> {
  const reachedAt: string[] = [];
  const server = createServer((socket) => {
    reachedAt.push(socket.localAddress ?? '');
    socket.on('error', () => {}).destroy();
  });
  // Listens on "::", which includes IPv4; without IPv6, on 0.0.0.0.
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
