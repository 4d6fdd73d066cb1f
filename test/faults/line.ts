import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to Redis that can drop all traffic while both ends stay up and keep their connections. */
export interface Line {
  readonly url: string;
  cut(): void;
  /** Breaks the connections that were cut; new connections work. */
  repair(): void;
  close(): Promise<void>;
}

export async function startLine(redisUrl: string): Promise<Line> {
  const { hostname, port } = new URL(redisUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  const pass = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (bytes) => {
      if (!isCut) to.write(bytes);
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      if (!isCut) to.destroy();
    });
  };
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname);
    pass(client, redis);
    pass(redis, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
    },
    repair() {
      isCut = false;
      breakAll();
    },
    async close() {
      server.close();
      breakAll();
      await once(server, 'close');
    },
  };
}
