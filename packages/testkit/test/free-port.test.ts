import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../src/index.ts';

const compiled = pathToFileURL(join(import.meta.dirname, '..', 'dist', 'free-port.js')).href;

/** So many ports, as a worker of that number has them. */
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

test('who asks often gets each port once', async () => {
  const ports: number[] = [];
  while (ports.length < 50) ports.push(await freePort());
  expect(new Set(ports).size).toBe(50);
});

test('workers side by side never get the same', () => {
  const [first, second] = [portsOfWorker(1, 1_500), portsOfWorker(2, 1_500)];
  expect(first.filter((port) => second.includes(port))).toEqual([]);
});

test('a port that is taken is passed over', async () => {
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
