import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03';

describe.each(['true', 'false'])(
  "With TRUST_TRACEPARENT=%s and tracing disabled, a client's trace context",
  (trust) => {
    const world = perSuite(() => startGateway({ env: { TRUST_TRACEPARENT: trust } }));

    test.each([
      [sent, 'vendor=1,other=2', sent, 'vendor=1,other=2'],
      [sent, 'Invalid,vendor=1', sent, 'vendor=1'],
      [sent, 'Invalid', sent, ''],
      ['00-nonsense', 'vendor=1', '', ''],
    ])('%s with tracestate %s is propagated as "%s" with "%s"', async (traceparent, tracestate, ...propagated) => {
      const key = world.auth.newKey('write');
      const sending = { key: key.value, json: { name: 'x' }, headers: { traceparent, tracestate } };
      expect((await world.send('POST', '/v1/resources', sending)).status).toBe(201);
      const { context } = world.resources.created.at(-1) ?? {};
      expect([context?.traceparent, context?.tracestate]).toEqual(trust === 'true' ? propagated : ['', '']);
    });
  },
);
