import { once } from 'node:events';
import { connect } from 'node:net';
import { describeWith, type RedisServer, startRedis } from '../../src/index.ts';

describeWith('redis-server', 'startRedis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  const ask = async (command: string): Promise<string> => {
    const socket = connect(Number(new URL(redis.url).port), '127.0.0.1');
    try {
      socket.write(`${command}\r\n`);
      const [response] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
      return String(response).trim();
    } finally {
      socket.destroy();
    }
  };

  test('responds to commands', async () => {
    expect(await ask('SET color blue')).toBe('+OK');
  });

  test('a paused server accepts connections and responds only after it is resumed', async () => {
    redis.pause();
    await expect(ask('PING')).rejects.toThrow('abort');
    redis.resume();
    expect(await ask('PING')).toBe('+PONG');
  });

  test('a restart after a kill responds at the same address, without its data', async () => {
    await redis.kill();
    await expect(ask('PING')).rejects.toThrow('ECONNREFUSED');
    await redis.restart();
    expect(await ask('GET color')).toBe('$-1');
  });

  test('can be stopped while it is paused', async () => {
    const other = await startRedis();
    other.pause();
    await other.stop();
  });
});
