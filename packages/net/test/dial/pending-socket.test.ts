import { once } from 'node:events';
import { type AddressInfo, connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { PendingSocket } from '@rms/net/dial';

describe('a socket that is still being opened', () => {
  let server: Server;
  let serve: (socket: Socket) => void;
  let port: number;
  beforeEach(async () => {
    server = createServer((socket) => serve(socket.on('error', () => {})));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => void server.close());
  const open = async () => connectSocket(port, '127.0.0.1');

  test('passes bytes in both directions, and ends when the server does', async () => {
    serve = (socket) => void socket.once('data', (chunk) => socket.end(`${chunk}${'x'.repeat(1_000_000)}`));
    const pending = new PendingSocket(open);
    pending.write('hello');
    let text = '';
    pending.on('data', (chunk) => {
      text += chunk;
    });
    await once(pending, 'end');
    expect(text.length).toBe(1_000_005);
    if (!pending.closed) await once(pending, 'close');
  });

  test('reports that the server broke the connection', async () => {
    serve = (socket) => void socket.once('data', () => socket.resetAndDestroy());
    const pending = new PendingSocket(open);
    await once(pending, 'open');
    pending.resume().write('hello');
    const [error] = await once(pending, 'error');
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });

  test('reports that it cannot be opened', async () => {
    const pending = new PendingSocket(async () => {
      throw new Error('refused');
    });
    const [error] = await once(pending, 'error');
    expect(error.message).toBe('refused');
  });

  test('is not opened after its end', async () => {
    let reason: Error | undefined;
    const pending = new PendingSocket(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(reason);
          });
        }),
    );
    pending.end();
    await once(pending, 'close');
    expect(reason?.message).toBe('the socket was closed');
  });
});
