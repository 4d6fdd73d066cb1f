import { describeWith, perSuite, startNetwork, startOtlpCollector, startReceiver, waitUntil } from '@rms/testkit';
import { createFor, openSettings, subscribeTraced } from './support/traced-request.ts';

describeWith(['redis', 'kafka'], 'with a sampler that drops all traces', () => {
  const collector = perSuite(startOtlpCollector);
  const network = perSuite(() =>
    startNetwork({
      env: { ...openSettings, ...collector.env.http, OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
    }),
  );
  const receiver = perSuite(startReceiver);
  const target = perSuite(() => subscribeTraced({ shape: network, collector, receiver }));

  test('a failed attempt is exported, a successful one is not, and both propagate their trace', async () => {
    const [good, bad] = [`kept-${Date.now()}-good`, `kept-${Date.now()}-bad`];
    await createFor(target, good);
    const arrived = await receiver.waitFor(
      ({ headers }) => headers['x-request-id'] === good,
      'the successful delivery',
    );
    receiver.respondWith(500);
    await createFor(target, bad);
    const failed = await receiver.waitFor(({ headers }) => headers['x-request-id'] === bad, 'the failed delivery');
    for (const { headers } of [arrived, failed])
      expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const spans = await collector.waitFor('the failed attempt', (all) => all.length > 0);
    const [, traceId, spanId] = String(failed.headers.traceparent).split('-');
    expect(spans).toMatchObject([
      { service: 'rms-webhooks', kind: 'CLIENT', name: 'POST', traceId, spanId, statusCode: 2, statusMessage: '' },
    ]);
    expect(spans[0]?.attributes).toMatchObject({ 'rms.request_id': bad, 'error.type': '500' });
    receiver.respondWith(200);
  });

  test('a failed request is exported with the spans of its process', async () => {
    const id = `kept-${Date.now()}-503`;
    network.services.resources.pause();
    try {
      const headers = { 'x-request-id': id };
      const response = await target.client.get('/v1/resources', { headers });
      expect(response.status).toBeGreaterThanOrEqual(500);
      await collector.waitFor('the failed request', (all) =>
        all.some(({ attributes }) => attributes['rms.request_id'] === id),
      );
    } finally {
      network.services.resources.resume();
    }
    const spans = await collector.spans();
    const root = spans.find(({ attributes }) => attributes['rms.request_id'] === id);
    const trace = spans.filter(({ traceId }) => traceId === root?.traceId && traceId !== undefined);
    expect(trace.map(({ service, kind, name }) => `${service} ${kind} ${name}`).sort()).toEqual([
      'rms-gateway CLIENT EVALSHA limits',
      'rms-gateway CLIENT rms.resources.v1.ResourcesService/ListResources',
      'rms-gateway SERVER GET /v1/resources',
    ]);
    expect(root).toMatchObject({
      statusCode: 2,
      attributes: { 'http.response.status_code': 504, 'error.type': '504' },
    });
    await waitUntil(async () => (await target.client.get('/v1/resources')).status === 200, {
      what: 'resources to respond again',
    });
  });
});
