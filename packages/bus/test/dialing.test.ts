import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createLogger } from '@rms/runtime/logging';
import { testSlowNames } from '@rms/testkit';
import { createKafkaClient } from '../src/kafka-client.ts';

const log = createLogger({ name: 'bus', level: 'silent' });

describe('a client connects to Kafka', () => {
  testSlowNames(async () => {
    // A broker that responds to the first request, ApiVersions: it knows no other requests.
    const server = createServer((socket) => {
      socket
        .on('error', () => {})
        .once('data', (request) => {
          const response = Buffer.alloc(18);
          response.writeInt32BE(14, 0);
          request.copy(response, 4, 8, 12);
          socket.write(response);
        });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return {
      port: (server.address() as AddressInfo).port,
      reach: async (host, port) => {
        const admin = createKafkaClient({ brokers: [`${host}:${port}`], clientId: 'test', log }).admin();
        await admin.connect();
        await admin.disconnect();
      },
      stop: () => server.close(),
    };
  });
});
