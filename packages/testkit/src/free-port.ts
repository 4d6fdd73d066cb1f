import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ports that systems hand out to outgoing connections, so that a server that was stopped for a while can have
// its port back.
const lowest = 12_000;
const highest = 32_000;
const tries = 100;

/** A TCP port of loopback that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  for (let i = 0; i < tries; i++) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
  throw new Error(`${tries} ports in a row were taken`);
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
