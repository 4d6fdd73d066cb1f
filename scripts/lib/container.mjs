import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const startLimitMs = 180_000;

/**
 * Starts a container with one port published on loopback, and waits until it is ready. Resolves to `{address, stop}`,
 * or to undefined if neither Docker nor Podman works.
 * @param options `env(port)`: environment of the container. `address(port)`: address for the tests. `log`: text that
 * the container logs when it has started.
 */
export async function startContainer({ image, port: inside, env = (_port) => ({}), log = '', address }) {
  const engine = await findEngine();
  if (!engine) return undefined;
  const port = await freePort();
  const variables = Object.entries(env(port)).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const args = ['run', '--detach', '--rm', '--publish', `127.0.0.1:${port}:${inside}`, ...variables, image];
  const { stdout } = await execute(engine, args, { timeout: startLimitMs });
  const id = stdout.trim();
  const stop = async () => void (await execute(engine, ['rm', '--force', id]));
  const giveUpAtMs = performance.now() + startLimitMs;
  while (!(await isUp(engine, id, port, log))) {
    if (performance.now() > giveUpAtMs) {
      await stop();
      throw new Error(`${image} is not ready after ${startLimitMs / 1_000} s`);
    }
    await delay(200);
  }
  return { address: address(port), stop };
}

async function findEngine() {
  for (const engine of ['docker', 'podman']) {
    const responses = await execute(engine, ['info'], { timeout: 10_000 }).then(
      () => true,
      () => false,
    );
    if (responses) return engine;
  }
  return undefined;
}

async function isUp(engine, id, port, log) {
  const { stdout, stderr } = await execute(engine, ['logs', id]);
  if (!`${stdout}${stderr}`.includes(log)) return false;
  const socket = createConnection(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}
