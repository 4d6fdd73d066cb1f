import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startFailure } from '@rms/service';
import { waitUntil } from '@rms/testkit';

const fixture = fileURLToPath(new URL('fixtures/service.mjs', import.meta.url));

/** The fixture in a process of its own; it runs the built package. */
function run(behaviour: string, argument = '') {
  const child: ChildProcess = spawn(process.execPath, [fixture, behaviour, argument], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const closed = once(child, 'close');
  return {
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    words: () => out.split('\n').slice(0, -1),
    errors: () => err,
    said: (word: string) => waitUntil(() => out.includes(`${word}\n`), { what: `"${word}"` }),
    async ended() {
      const [code] = await closed;
      return { code, words: out.split('\n').slice(0, -1), errors: err };
    },
  };
}

describe('runMain', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s drains the service and ends with 0', async (signal) => {
    const service = run('drains');
    await service.said('started');
    service.kill(signal);
    expect(await service.ended()).toMatchObject({ code: 0, words: ['started', 'stopping', 'stopped'] });
  });

  test('a signal that comes twice at once, as npm passes it on, is one', async () => {
    const service = run('drains');
    await service.said('started');
    service.kill('SIGINT');
    service.kill('SIGINT');
    await service.said('stopping');
    service.kill('SIGINT');
    expect(await service.ended()).toMatchObject({ code: 0, words: ['started', 'stopping', 'stopped'] });
  });

  test('a later second signal forces the end', async () => {
    const service = run('hangs');
    await service.said('started');
    service.kill('SIGINT');
    await service.said('stopping');
    const ended = service.ended();
    // Signals within a second of the first are the same one; so this is repeated until one is later.
    const again = setInterval(() => service.kill('SIGINT'), 200);
    expect(await ended).toMatchObject({ code: 130, words: ['started', 'stopping'] });
    clearInterval(again);
  });

  test('a start that fails is one line and exit code 1, and what had started is stopped', async () => {
    const { code, words, errors } = await run('refuses').ended();
    expect(code).toBe(1);
    expect(words).toEqual(['stopping', 'stopped']);
    expect(errors.split('\n')[0]).toBe('rms: the reason');
    expect(errors).not.toMatch(/^ +at /m);
  });

  test('a port in use is named', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, errors } = await run('port-in-use', `${port}`).ended();
    expect(code).toBe(1);
    expect(errors.split('\n')[0]).toBe(`rms: port ${port} is in use; end what listens there or choose another`);
    other.close();
  });

  test('an uncaught error is logged, drains the service and ends with 1', async () => {
    const { code, words, errors } = await run('throws-later').ended();
    expect({ code, words }).toEqual({ code: 1, words: ['started', 'stopping', 'stopped'] });
    expect(errors).toContain('"msg":"uncaught error"');
  });

  test('a service that says that it cannot go on is stopped, with its reason, and exit code 1', async () => {
    const { code, words, errors } = await run('fails-later').ended();
    expect({ code, words }).toEqual({ code: 1, words: ['started', 'stopping', 'stopped'] });
    expect(errors).toContain('rms: a part has ended\n');
  });
});

describe('startFailure', () => {
  test.each([
    [new Error('first\nsecond'), 'first'],
    [
      new AggregateError([new Error('connect ECONNREFUSED ::1:5432'), new Error('other')]),
      'connect ECONNREFUSED ::1:5432',
    ],
    [new TypeError(''), 'TypeError'],
    ['a text', 'a text'],
    [Object.assign(new Error('listen EACCES'), { code: 'EACCES', port: 80 }), 'port 80 may not be opened by this user'],
  ])('%s is told as "%s"', (error, line) => {
    expect(startFailure(error)).toBe(line);
  });
});
