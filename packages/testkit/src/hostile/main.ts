// A webhook receiver with configurable behavior, in its own process. Its argument is the settings as JSON.
import { once } from 'node:events';
import { openSync, readFileSync, writeSync } from 'node:fs';
import { createServer as createControl } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type ListenerName, listenerNames, type ReceiverPlan, type ReceiverSettings } from './behavior.ts';
import { type Shared, serve } from './connection.ts';

const settings = JSON.parse(process.argv[2] ?? '') as ReceiverSettings;
const readPlan = () => JSON.parse(readFileSync(settings.planFile, 'utf8')) as ReceiverPlan;
let plan = readPlan();

const recordFile = openSync(settings.recordFile, 'a');
const shared: Shared = {
  plan: () => plan,
  // Written synchronously before any further action, so that a kill loses no record.
  write: (record) => void writeSync(recordFile, `${JSON.stringify(record)}\n`),
};
const open = new Set<Socket>();

function track(socket: Socket): Socket {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  // Clients that give up are expected.
  socket.on('error', () => {});
  return socket;
}

function listener(name: ListenerName): Server {
  switch (name) {
    case 'http':
      return createServer((socket) => serve(track(socket), shared));
    case 'mute':
      return createServer({ pauseOnConnect: true }, (socket) => void track(socket));
    case 'closing':
      return createServer((socket) => track(socket).once('data', () => socket.end()));
    case 'resetting':
      return createServer((socket) => void track(socket).resetAndDestroy());
    default: {
      const files = settings.tls[name];
      if (!files) throw new Error(`${name} has no certificate`);
      // OpenSSL supports these old versions only at its lowest security level.
      const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      const server = createTlsServer(
        {
          cert: readFileSync(files.certFile),
          key: readFileSync(files.keyFile),
          ...(name === 'oldTls' ? old : {}),
        },
        (socket) => serve(track(socket), shared),
      );
      server.on('tlsClientError', () => {});
      return server;
    }
  }
}

shared.write({ kind: 'start' });
const control = createControl((request, response) => {
  if (request.method === 'POST') plan = readPlan();
  response.end(JSON.stringify({ connections: open.size }));
});
control.listen(settings.controlPort, '127.0.0.1');
await once(control, 'listening');
for (const name of listenerNames) {
  if (settings.ports[name] === 0) continue;
  const server = listener(name);
  server.listen({ port: settings.ports[name], host: '127.0.0.1', backlog: settings.backlog });
  await once(server, 'listening');
}
console.log('listening');
