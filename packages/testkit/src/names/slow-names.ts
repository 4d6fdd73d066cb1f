import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { testGlobals } from '../test-globals.ts';
import { waitUntil } from '../wait-until.ts';
import { watchDials } from './dial-watch.ts';
import { type FrozenRelay, startFrozenRelay } from './frozen-relay.ts';
import { serveNames } from './served-names.ts';

/** A server that a client reaches by a name. */
export interface NamedServer {
  /** Port of the server on 127.0.0.1. */
  readonly port: number;
  /** Connects a client to the server. Rejects if that fails. */
  reach(host: string, port: number): Promise<unknown>;
  stop(): unknown;
}

/** Another address of loopback than 127.0.0.1. macOS has only one IPv4 address. */
export const secondAddress = process.platform === 'darwin' ? '::1' : '127.0.0.2';
const addresses = ['127.0.0.1', secondAddress];
const host = 'slow.example';

/**
 * Tests that a client connects to a server with two addresses of its name: if the first one never responds, by the
 * second one; if the second one refuses, by the first one, although that takes a second.
 */
export function testSlowNames(start: () => Promise<NamedServer> | NamedServer): void {
  const { test, beforeEach, afterEach } = testGlobals();
  let server: NamedServer;
  let frozen: FrozenRelay;
  let removeName: () => void;
  beforeEach(async () => {
    server = await start();
    frozen = await startFrozenRelay(server.port);
    removeName = serveNames({ [host]: addresses });
  });
  afterEach(async () => {
    removeName();
    await frozen.stop();
    await server.stop();
  });

  test('an address that never responds does not prevent the connection to another one', async () => {
    const relay = createServer((incoming) => {
      const outgoing = connect(server.port, '127.0.0.1');
      incoming.on('error', () => outgoing.destroy()).pipe(outgoing);
      outgoing.on('error', () => incoming.destroy()).pipe(incoming);
    }).listen(frozen.port, secondAddress);
    await once(relay, 'listening');
    try {
      await server.reach(host, frozen.port);
    } finally {
      relay.close();
    }
  });

  test('an address that needs a second is not given up because another one refuses', async () => {
    const watch = watchDials();
    try {
      const reached = server.reach(host, frozen.port);
      reached.catch(() => {});
      await waitUntil(() => watch.dialed.some(({ address }) => address === secondAddress), {
        what: 'the second address',
      });
      // The first connection request was ignored; the system repeats it after a second.
      frozen.resume();
      await reached;
    } finally {
      watch.stop();
    }
  });
}
