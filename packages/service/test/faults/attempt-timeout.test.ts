import { once } from 'node:events';
import { connect, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { allowSlowConnections } from '@rms/service';
import { startFrozenReceiver } from '@rms/testkit';

test('a server that needs a second to accept is reached, although another address of its name refuses', async () => {
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
    const connected = once(socket, 'connect');
    await once(socket, 'connectionAttempt');
    // The system sends the lost SYN again after a second.
    server.resume();
    await connected;
    expect(socket.remoteAddress).toBe('127.0.0.1');
  } finally {
    setDefaultAutoSelectFamilyAttemptTimeout(before);
    socket.destroy();
    await server.stop();
  }
});
