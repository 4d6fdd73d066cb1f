import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// The range is below the ephemeral ports of operating systems, so that a stopped server can reuse its port. Webhooks
// may call all of its ports.
const lowest = 12_000;
const highest = 27_000;
const slices = 10;
const portsPerSlice = (highest - lowest) / slices;

/** jest numbers its concurrent workers from 1; other processes use the first slice. */
const slice = Number(process.env.JEST_WORKER_ID ?? 0) % slices;
const first = lowest + slice * portsPerSlice;
let next = randomInt(portsPerSlice);

/**
 * Returns a TCP port of loopback that is not in use. Test files that run concurrently never get the same port. A test
 * file gets a port again only after all ports of its worker's slice, so that it can listen later.
 */
export async function freePort(): Promise<number> {
  for (let i = 0; i < portsPerSlice; i++) {
    const port = first + next;
    next = (next + 1) % portsPerSlice;
    if (await isFree(port)) return port;
  }
  throw new Error(`all ports from ${first} to ${first + portsPerSlice - 1} are in use`);
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
