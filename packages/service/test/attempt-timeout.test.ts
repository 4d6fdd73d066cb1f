import { once } from 'node:events';
import { connect, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { allowSlowConnections } from '@rms/service';
import { startFrozenReceiver } from '@rms/testkit';

test('a server has more than a second to accept a connection, although another address of its name refuses', async () => {
  const before = getDefaultAutoSelectFamilyAttemptTimeout();
  allowSlowConnections();
  const server = await startFrozenReceiver();
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const socket = connect({
    host: 'store.example',
    port: server.port,
    lookup: (_name, _options, done) => done(null, addresses),
  });
  try {
    let startedAtMs = 0;
    const ended: { address: string; afterMs: number }[] = [];
    socket.once('connectionAttempt', () => {
      startedAtMs = performance.now();
    });
    socket.on('connectionAttemptTimeout', (address) => {
      ended.push({ address, afterMs: performance.now() - startedAtMs });
    });
    const [error] = await once(socket, 'error');
    expect(ended).toEqual([{ address: '127.0.0.1', afterMs: expect.any(Number) }]);
    expect(ended[0]?.afterMs).toBeGreaterThan(1_000);
    // Then the other address is tried.
    expect(error.errors).toMatchObject([{ code: 'ETIMEDOUT' }, { code: 'ECONNREFUSED', address: '127.0.0.2' }]);
  } finally {
    setDefaultAutoSelectFamilyAttemptTimeout(before);
    socket.destroy();
    await server.stop();
  }
});
