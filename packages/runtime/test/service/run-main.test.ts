import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { RmsError } from '@rms/base/errors';
import { startFailure } from '@rms/runtime/service/start-failure';
import { waitUntil } from '@rms/testkit';

const fixture = fileURLToPath(new URL('fixtures/service.mjs', import.meta.url));

/** Starts the fixture in its own process; it uses the built package. */
function run(behavior: string, argument = '') {
  const child: ChildProcess = spawn(process.execPath, [fixture, behavior, argument], {
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
    hasPrinted: (word: string) => waitUntil(() => out.includes(`${word}\n`), { what: `"${word}"` }),
    async ended() {
      const [code] = await closed;
      return { code, words: out.split('\n').slice(0, -1), errors: err };
    },
  };
}

describe('runMain', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s drains the service and exits with code 0', async (signal) => {
    const service = run('drains');
    await service.hasPrinted('started');
    service.kill(signal);
    expect(await service.ended()).toMatchObject({ code: 0, words: ['started', 'stopping', 'stopped'] });
  });

  test('a repeated signal within a second, as forwarded by npm, counts once', async () => {
    const service = run('drains');
    await service.hasPrinted('started');
    service.kill('SIGINT');
    service.kill('SIGINT');
    await service.hasPrinted('stopping');
    service.kill('SIGINT');
    expect(await service.ended()).toMatchObject({ code: 0, words: ['started', 'stopping', 'stopped'] });
  });

  test('a later second signal forces the exit', async () => {
    const service = run('hangs');
    await service.hasPrinted('started');
    service.kill('SIGINT');
    await service.hasPrinted('stopping');
    const ended = service.ended();
    // Signals within a second after the first count as the same signal, so repeat it until a later signal arrives.
    const again = setInterval(() => service.kill('SIGINT'), 200);
    expect(await ended).toMatchObject({ code: 130, words: ['started', 'stopping'] });
    clearInterval(again);
  });

  test('a failed start prints one line, exits with code 1 and stops the started parts', async () => {
    const { code, words, errors } = await run('refuses').ended();
    expect(code).toBe(1);
    expect(words).toEqual(['stopping', 'stopped']);
    expect(errors.split('\n')[0]).toBe('rms: the reason');
    expect(errors).not.toMatch(/^ +at /m);
  });

  test('the error names a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, errors } = await run('port-in-use', `${port}`).ended();
    expect(code).toBe(1);
    expect(errors.split('\n')[0]).toBe(
      `rms: port ${port} is in use; stop the program that listens on it, or choose another port`,
    );
    other.close();
  });

  test('an uncaught error is logged, drains the service and exits with code 1', async () => {
    const { code, words, errors } = await run('throws-later').ended();
    expect({ code, words }).toEqual({ code: 1, words: ['started', 'stopping', 'stopped'] });
    expect(errors).toContain('"msg":"uncaught error"');
  });

  test('a service that reports a permanent failure is stopped with its reason and exit code 1', async () => {
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
    [
      new RmsError('service_unavailable', { cause: new Error('the database is read-only') }),
      'the database is read-only',
    ],
    ['a text', 'a text'],
    [
      Object.assign(new Error('listen EACCES'), { code: 'EACCES', port: 80 }),
      'this user may not listen on port 80; choose a port from 1024',
    ],
    [
      Object.assign(new Error('listen EAFNOSUPPORT: address family not supported :::8080'), { code: 'EAFNOSUPPORT' }),
      'the kernel has no IPv6, so nothing can listen on "::"; set HOST, GRPC_HOST and METRICS_ADDRESS to 0.0.0.0',
    ],
  ])('%s is described as "%s"', (error, line) => {
    expect(startFailure(error)).toBe(line);
  });
});
