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
    const failed = once(socket, 'error');
    await once(socket, 'connectionAttempt');
    const startedAtMs = performance.now();
    const [address] = await once(socket, 'connectionAttemptTimeout');
    expect(address).toBe('127.0.0.1');
    expect(performance.now() - startedAtMs).toBeGreaterThan(1_000);
    // Then the other address is tried.
    const [error] = await failed;
    expect(error.errors).toMatchObject([{ code: 'ETIMEDOUT' }, { code: 'ECONNREFUSED', address: '127.0.0.2' }]);
  } finally {
    setDefaultAutoSelectFamilyAttemptTimeout(before);
    socket.destroy();
    await server.stop();
  }
});
