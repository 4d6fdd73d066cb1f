import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { disposable, perSuite, testDatabase } from '@rms/testkit';
import { createPool } from '../../src/db/index.ts';

/** Startup messages have a length of 4 bytes, the protocol's version, and pairs of texts that end with a zero byte. */
const headBytes = 8;

describe('a pooler', () => {
  let pooler: Awaited<ReturnType<typeof startPooler>>;
  afterAll(async () => {
    pooler?.stop();
  });
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    pooler = await startPooler(database.url);
  });

  const ask = async () => {
    await using pool = disposable(createPool({ url: pooler.url, max: 1, applicationName: 'test', log: { warn() {} } }));
    return (await pool.query(`select current_setting('plan_cache_mode') as mode`)).rows;
  };

  test('that passes on the settings of sessions is used', async () => {
    pooler.ignored = [];
    expect(await ask()).toEqual([{ mode: 'force_custom_plan' }]);
  });

  test('that ignores the settings of sessions is refused with the reason', async () => {
    pooler.ignored = ['options'];
    await expect(ask()).rejects.toMatchObject({
      code: 'service_unavailable',
      cause: { message: expect.stringMatching(/^test: the settings of the session are not in effect; connect to/) },
    });
  });
});

/** Starts a server that forwards connections to PostgreSQL without the startup parameters in `ignored`. */
async function startPooler(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const pooler = { url: '', ignored: [] as string[], stop };
  const server = createServer(async (client) => {
    const forward = connect(Number(target.port), target.hostname);
    for (const socket of [client, forward]) sockets.add(socket.on('error', () => {}));
    const [startup] = (await once(client, 'data')) as [Buffer];
    forward.write(withoutParameters(startup, pooler.ignored));
    client.pipe(forward).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  pooler.url = own.href;
  return pooler;

  function stop(): void {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

function withoutParameters(startup: Buffer, names: readonly string[]): Buffer {
  const texts = startup.toString('utf8', headBytes).split('\0');
  const kept = texts.flatMap((text, at) => {
    if (at % 2 === 0) return names.includes(text) ? [] : [text];
    return names.includes(texts[at - 1] ?? '') ? [] : [text];
  });
  const body = Buffer.from(kept.join('\0'));
  const head = Buffer.from(startup.subarray(0, headBytes));
  head.writeInt32BE(headBytes + body.length);
  return Buffer.concat([head, body]);
}
