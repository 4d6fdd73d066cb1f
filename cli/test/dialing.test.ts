import { makeSecret, toSigningSecret } from '@rms/base/signature';
import { startReceiver, testSlowNames } from '@rms/testkit';
import { forward } from '../src/forward.ts';

describe('events are forwarded to an endpoint', () => {
  testSlowNames(async () => {
    const receiver = await startReceiver();
    const secrets = { current: toSigningSecret(makeSecret()), previous: undefined };
    const event = { eventId: 'evt_1', requestId: 'req_1', body: Buffer.from('{}') };
    return {
      port: receiver.port,
      reach: async (host, port) => {
        const sent = await forward(new URL(`http://${host}:${port}/`), secrets, event, new AbortController().signal);
        expect(sent).toMatchObject({ statusCode: 200, error: undefined });
      },
      stop: () => receiver.close(),
    };
  });
});
