import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that systems hand out to outgoing connections, so that a server that was stopped for a while can have
// its port back; no port that webhooks may not call lies between.
const lowest = 12_000;
const highest = 27_000;
const slices = 10;
const portsPerSlice = (highest - lowest) / slices;

/** Jest numbers its workers from 1; whoever else asks has the first slice. */
const slice = Number(process.env.JEST_WORKER_ID ?? 0) % slices;
const first = lowest + slice * portsPerSlice;
let next = randomInt(portsPerSlice);

/**
 * A TCP port of loopback that nobody listens on. Two test files at once never get the same one, and one file gets each
 * but once before all of its worker's were used: who asks may listen later.
 */
export async function freePort(): Promise<number> {
  for (let i = 0; i < portsPerSlice; i++) {
    const port = first + next;
    next = (next + 1) % portsPerSlice;
    if (await isFree(port)) return port;
  }
  throw new Error(`all ports from ${first} to ${first + portsPerSlice - 1} are taken`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
