import { startReceiver } from '@rms/testkit';
import { createEgress } from '../src/egress/egress.ts';
import { createGuardedAgent } from '../src/egress/guarded-agent.ts';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

describe('the address that is dialled', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver?.close());

  const call = async (host: string, options: { allow?: string[]; allowHttp?: boolean; answers?: string[] }) => {
    const agent = createGuardedAgent({
      egress: {
        ...createEgress({ allowHttp: options.allowHttp ?? true, allowCidrs: options.allow ?? [] }),
        resolve: async () => options.answers ?? [],
      },
    });
    try {
      const answer = await agent.request({ origin: `http://${host}:${receiver.port}`, path: '/', method: 'POST' });
      await answer.body.dump();
      return answer.statusCode;
    } finally {
      await agent.close();
    }
  };

  test.each([
    ['a literal address', '127.0.0.1', {}],
    ['a literal IPv6 address', '[::1]', {}],
    ['a name for a private address', 'a.example', { answers: ['127.0.0.1'] }],
    ['a name for a public and a private address', 'a.example', { answers: ['93.184.215.14', '127.0.0.1'] }],
    ['a mapped address', '[::ffff:127.0.0.1]', {}],
    ['http where only https is allowed', '127.0.0.1', { allow: ['127.0.0.0/8'], allowHttp: false }],
  ])('%s is refused before anything is sent', async (_, host, options) => {
    await expect(call(host, options)).rejects.toMatchObject({ code: 'BLOCKED_ADDRESS' });
    expect(receiver.requests).toEqual([]);
  });

  test('a name that does not resolve is no answer', async () => {
    await expect(call('a.example', {})).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('an allowed address is reached, by its name too', async () => {
    expect(await call('127.0.0.1', { allow: ['127.0.0.0/8'] })).toBe(200);
    expect(await call('a.example', { allow: ['127.0.0.0/8'], answers: ['127.0.0.1'] })).toBe(200);
    expect(await call('localhost', { allow: ['127.0.0.0/8'], answers: ['127.0.0.1', '::1'] })).toBe(200);
  });
});
