import { describeWith, perSuite, startNetwork, startOtlpCollector, startReceiver } from '@rms/testkit';
import { recordWith } from './support/kafka-record.ts';
import { createFor, openSettings, subscribeTraced } from './support/traced-request.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const tracestate = 'vendor=00f067aa0ba902b7,other=1';

describeWith(['redis', 'kafka'], 'with TRUST_TRACEPARENT, the trace of a client', () => {
  const collector = perSuite(startOtlpCollector);
  const network = perSuite(() =>
    startNetwork({ env: { ...openSettings, ...collector.env.http, TRUST_TRACEPARENT: 'true' } }),
  );
  const receiver = perSuite(startReceiver);
  const target = perSuite(() => subscribeTraced({ shape: network, collector, receiver }));

  test.each(['03', '02'])('continues to the endpoint with its tracestate and its flags %s', async (flags) => {
    const requestId = `trusted-${Date.now()}-${flags}`;
    await createFor(target, requestId, { traceparent: `00-${trace}-b7ad6b7169203331-${flags}`, tracestate });
    const { headers } = await receiver.waitFor(
      ({ headers: sent }) => sent['x-request-id'] === requestId,
      'the delivery',
    );
    const { headers: ofRecord } = await recordWith(network.env, requestId);
    for (const each of [headers, ofRecord]) {
      expect(each.traceparent).toMatch(new RegExp(`^00-${trace}-(?!b7ad6b7169203331)[0-9a-f]{16}-${flags}$`));
      expect(each.tracestate).toBe(tracestate);
    }
  });
});
