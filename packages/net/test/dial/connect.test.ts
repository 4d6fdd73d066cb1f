import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { connect } from '@rms/net/dial';
import {
  disposable,
  freePort,
  listenOnLoopback,
  makeCertificates,
  startFrozenReceiver,
  suiteFolder,
  testSlowNames,
} from '@rms/testkit';

const timeoutMs = 10_000;

describe('connecting to a server', () => {
  testSlowNames(async () => {
    const { port, close } = await listenOnLoopback(
      createServer((socket) => void socket.on('error', () => {}).end('hello')),
    );
    return {
      port,
      reach: async (host, port) => {
        const socket = await connect({ host, port, timeoutMs });
        expect(String((await once(socket, 'data'))[0])).toBe('hello');
        socket.destroy();
      },
      stop: close,
    };
  });

  test('fails with the reason and the time limit', async () => {
    const port = await freePort();
    await expect(connect({ host: '127.0.0.1', port, timeoutMs })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const unknown = connect({ host: 'unknown.invalid', port, timeoutMs });
    await expect(unknown).rejects.toMatchObject({ code: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) });
    await using frozen = disposable(await startFrozenReceiver());
    await expect(connect({ host: '127.0.0.1', port: frozen.port, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: `the connection to 127.0.0.1:${frozen.port} timed out after 50 ms`,
    });
  });

  test('ends when its signal aborts', async () => {
    await using frozen = disposable(await startFrozenReceiver());
    const stop = new AbortController();
    const connecting = connect({ host: '127.0.0.1', port: frozen.port, timeoutMs, signal: stop.signal });
    stop.abort(new Error('the caller gave up'));
    await expect(connecting).rejects.toThrow('the caller gave up');
    await expect(connect({ host: '127.0.0.1', port: 1, timeoutMs, signal: stop.signal })).rejects.toThrow('gave up');
  });

  describe('with TLS', () => {
    const folder = suiteFolder('dial');

    test('verifies the name and states it in SNI; an IP address is never stated', async () => {
      const authority = makeCertificates(folder);
      const { certFile, keyFile } = authority.issue('server', { sans: ['localhost', '127.0.0.1'] });
      const names: unknown[] = [];
      const server = createTlsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (socket) => {
        names.push(socket.servername);
        socket.on('error', () => {}).end('hello');
      });
      const { port, close } = await listenOnLoopback(server);
      const tls = { ca: readFileSync(authority.caFile) };
      try {
        for (const host of ['localhost', '127.0.0.1']) {
          const socket = await connect({ host, port, family: 4, timeoutMs, tls });
          expect(String((await once(socket, 'data'))[0])).toBe('hello');
          socket.destroy();
        }
        expect(names).toEqual(['localhost', false]);
        const unverified = connect({ host: '127.0.0.1', port, timeoutMs, tls: {}, caSetting: 'STORE_CA_FILE' });
        await expect(unverified).rejects.toMatchObject({
          code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
          message: expect.stringMatching(/; set STORE_CA_FILE to the CA that issued the certificate of the server$/),
        });
      } finally {
        await close();
      }
    });

    test('limits the handshake as well', async () => {
      const server = createServer((socket) => void socket.on('error', () => {}));
      const { port, close } = await listenOnLoopback(server);
      try {
        const connecting = connect({ host: '127.0.0.1', port, timeoutMs: 100, tls: {} });
        await expect(connecting).rejects.toThrow(`the TLS handshake with 127.0.0.1:${port} timed out after 100 ms`);
      } finally {
        await close();
      }
    });
  });
});
