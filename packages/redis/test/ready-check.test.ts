import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { openRedisServers } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { disposable } from '@rms/testkit';

test('connections for sessions do not need the right to run INFO', async () => {
  const log = createLogger({ name: 'test', level: 'silent' });
  const commands: string[] = [];
  await using server = disposable(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        // Every command is an array of bulk strings.
        for (const command of chunk.toString().split(/(?=\*\d+\r\n)/)) {
          const [, , name = ''] = command.split('\r\n');
          commands.push(name.toUpperCase());
          socket.write(name.toUpperCase() === 'INFO' ? '-NOPERM this user has no permissions\r\n' : '+OK\r\n');
        }
      });
    }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await using servers = disposable(
    openRedisServers(readSettings({ REDIS_URL: `redis://127.0.0.1:${port}` }), log),
    'disconnect',
  );
  await servers.connect();
  expect(await servers.of('any').redis.set('rms-dashboard:x', '1')).toBe('OK');
  expect(commands).toContain('SET');
  expect(commands).not.toContain('INFO');
});
