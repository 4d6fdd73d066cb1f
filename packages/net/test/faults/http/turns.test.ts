import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { parseCidrs } from '@rms/base/cidr';
import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { type Connections, limitConnections } from '../../../src/http/listener.ts';

class Connection extends EventEmitter {
  readonly remoteAddress = '192.0.2.1';
  writableLength = 0;
  isDestroyed = false;
  destroy() {
    this.isDestroyed = true;
    this.emit('close');
  }
}

test('100,000 sweeps of connections, with a request of each, leave nothing behind', async () => {
  const server = new EventEmitter();
  const log = createLogger({ name: 'http', level: 'silent' });
  const times = { unreadMs: 30_000, sweepMs: 1_000 };
  const limits = { maxConnections: 1_000, maxConnectionsPerAddress: 2, trustedProxies: parseCidrs([]), ...times };
  let connections: Connections | undefined;
  let swept = 0;
  const kept = new Connection();
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    connections = limitConnections(server as Server, limits, { log, onRefused: () => {} });
    server.emit('connection', kept);
    while (!signal.aborted) {
      const socket = new Connection();
      server.emit('connection', socket);
      for (const used of [socket, kept]) {
        const response = Object.assign(new EventEmitter(), { req: { socket: used } });
        server.emit('request', {}, response);
        response.emit('close');
      }
      // The client does not read the response, so a sweep closes the connection.
      socket.writableLength = 1;
      await new Promise((resolve) => setTimeout(resolve, 40_000));
      if (socket.isDestroyed) swept += 1;
    }
    server.emit('close');
  });
  expect(swept).toBeGreaterThan(1_000);
  expect(connections?.count()).toBe(1);
  expect(bytesPerTurn).toBeLessThan(16);
});
