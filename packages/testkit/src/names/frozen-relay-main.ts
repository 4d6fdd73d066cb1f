import { connect, createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { RelayData } from './frozen-relay.ts';

// Relays connections to another port, after this thread has been resumed.
const { port, targetPort, isResumed } = workerData as RelayData;
const server = createServer((incoming) => {
  const outgoing = connect(targetPort, '127.0.0.1');
  incoming.on('error', () => outgoing.destroy()).pipe(outgoing);
  outgoing.on('error', () => incoming.destroy()).pipe(incoming);
});
server.listen({ port, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort?.postMessage('listening');
  Atomics.wait(isResumed, 0, 0);
});
