import { once } from 'node:events';
import { connect } from 'node:net';
import { describeWith, disposable, perSuite, startRedis } from '../../src/index.ts';

describeWith('redis-server', 'startRedis', () => {
  const redis = perSuite(startRedis);

  const ask = async (command: string): Promise<string> => {
    await using socket = disposable(connect(Number(new URL(redis.url).port), '127.0.0.1'), 'destroy');
    socket.write(`${command}\r\n`);
    const [response] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    return String(response).trim();
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
