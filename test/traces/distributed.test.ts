import { describeWith, perSuite, startNetwork, startOtlpCollector, startReceiver } from '@rms/testkit';
import { recordWith } from './support/kafka-record.ts';
import { requestIdSuite } from './support/request-id-suite.ts';
import { traceSuite } from './support/trace-suite.ts';
import { createFor, openSettings, subscribeTraced, traceOf } from './support/traced-request.ts';

describeWith(['redis', 'kafka'], 'traces of separate services', () => {
  const collector = perSuite(startOtlpCollector);
  const network = perSuite(() => startNetwork({ env: { ...openSettings, ...collector.env.grpc } }));
  const receiver = perSuite(startReceiver);
  const target = perSuite(() => subscribeTraced({ shape: network, collector, receiver }));

  traceSuite(() => target);
  requestIdSuite(() => ({ ...target, logs: () => Object.values(network.services).map((service) => service.output()) }));

  test('each service exports its own spans, including those for Redis', async () => {
    const requestId = `trace-${Date.now()}-services`;
    await createFor(target, requestId);
    const { trace } = await traceOf(target, requestId, 'POST');
    expect([...new Set(trace.map(({ service }) => service))].sort()).toEqual([
      'rms-gateway',
      'rms-resources',
      'rms-webhooks',
    ]);
    expect(trace.filter(({ attributes }) => attributes['db.system.name'] === 'redis')).toMatchObject([
      { service: 'rms-gateway', kind: 'CLIENT', name: 'EVALSHA limits' },
    ]);
  });

  test('the Kafka record contains the request id, and the trace context of the span that sent it', async () => {
    const requestId = `trace-${Date.now()}-record`;
    await createFor(target, requestId);
    const { root, trace } = await traceOf(target, requestId, 'POST');
    const { headers } = await recordWith(network.env, requestId);
    const producer = trace.find(({ kind }) => kind === 'PRODUCER');
    expect(headers['x-request-id']).toBe(requestId);
    expect(headers.traceparent).toBe(`00-${root.traceId}-${producer?.spanId}-01`);
  });
});
