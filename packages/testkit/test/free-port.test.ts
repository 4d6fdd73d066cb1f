import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../src/index.ts';

const compiled = pathToFileURL(join(import.meta.dirname, '..', 'src', 'free-port.ts')).href;

/** Returns the first `count` ports of the worker with this number. */
function portsOfWorker(id: number, count: number): number[] {
  const script = `import { freePort } from '${compiled}';
    const ports = [];
    while (ports.length < ${count}) ports.push(await freePort());
    console.log(JSON.stringify(ports));`;
  const env = { ...process.env, JEST_WORKER_ID: `${id}` };
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env, encoding: 'utf8' }),
  ) as number[];
}

test('repeated calls return different ports', async () => {
  const ports: number[] = [];
  while (ports.length < 50) ports.push(await freePort());
  expect(new Set(ports).size).toBe(50);
});

test('concurrent workers never get the same port', () => {
  const [first, second] = [portsOfWorker(1, 1_500), portsOfWorker(2, 1_500)];
  expect(first.filter((port) => second.includes(port))).toEqual([]);
});

test('skips a port in use', async () => {
  const port = await freePort();
  const server = createServer().listen(port + 1, '127.0.0.1');
  await once(server, 'listening');
  try {
    expect(await freePort()).not.toBe(port + 1);
  } finally {
    server.close();
    await once(server, 'close');
  }
});
