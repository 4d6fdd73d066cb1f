import {
  describeWith,
  type Network,
  type OtlpCollector,
  type Receiver,
  startNetwork,
  startOtlpCollector,
  startReceiver,
} from '@rms/testkit';
import { recordWith } from './support/kafka-record.ts';
import { createFor, openSettings, subscribeTraced, type TracedShape } from './support/traced-request.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const tracestate = 'vendor=00f067aa0ba902b7,other=1';

describeWith(['redis', 'kafka'], 'with TRUST_TRACEPARENT, the trace of a client', () => {
  let collector: OtlpCollector;
  let network: Network;
  let receiver: Receiver;
  let target: TracedShape;
  beforeAll(async () => {
    collector = await startOtlpCollector();
    network = await startNetwork({ env: { ...openSettings, ...collector.env.http, TRUST_TRACEPARENT: 'true' } });
    receiver = await startReceiver();
    target = await subscribeTraced({ shape: network, collector, receiver });
  });
  afterAll(async () => {
    await network?.stop();
    await receiver?.close();
    await collector?.stop();
  });

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
