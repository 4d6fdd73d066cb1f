import { type ReceivedRequest, waitUntil } from '@rms/testkit';
import type { DeliveryList } from '../../api/support/api-types.ts';
import { createFor, pathTo, secretPath, type TracedShape, traceOf } from './traced-request.ts';

const topic = /^(send|process) .+\.resource-events\.v1$/;
const clientTrace = '0af7651916cd43dd8448eb211c80319c';
const clientSpan = 'b7ad6b7169203331';

interface DeliveryShown {
  readonly trace_id: string;
  readonly request_id: string;
  readonly attempts: readonly { readonly request: { readonly headers: Readonly<Record<string, string>> } }[];
}

interface Traced {
  readonly request_id: string;
  readonly trace_ids: readonly string[];
  readonly requests: readonly Record<string, unknown>[];
  readonly events: readonly { id: string; partition: number; offset: string; trace_id: string }[];
  readonly deliveries: readonly { id: string; attempts: readonly { status: number }[] }[];
  readonly steps: readonly { at: string; text: string }[];
}

/** Tests of traces that hold for every shape. */
export function traceSuite(target: () => TracedShape): void {
  const delivered = (requestId: string): Promise<ReceivedRequest> =>
    target().receiver.waitFor(({ headers }) => headers['x-request-id'] === requestId, `the delivery of ${requestId}`);
  const rms = <T>(...args: string[]) => target().shape.rms<T>(...args);

  describe('one request', () => {
    const requestId = `trace-${Date.now()}-whole`;

    test('is one trace, from HTTP through gRPC, SQL, outbox, Kafka and fan-out to the attempt', async () => {
      const resource = await createFor(target(), requestId);
      const { root, trace } = await traceOf(target(), requestId, 'POST');
      const attempt = trace.find(({ name }) => name === 'POST');
      if (!attempt) throw new Error('no span of an attempt');
      const call = 'rms.resources.v1.ResourcesService/BatchCreateResources';
      const path = pathTo(attempt, trace).map((name) => name.replace(/ [\w-]+\.resource-events/, ' resource-events'));
      expect(path).toEqual([
        'SERVER POST /v1/resources',
        `CLIENT ${call}`,
        `SERVER ${call}`,
        'PRODUCER send resource-events.v1',
        'CONSUMER process resource-events.v1',
        'CLIENT POST',
      ]);
      expect(root.parentSpanId).toBe('');
      const statements = trace.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql');
      const under = statements.map((one) => pathTo(one, trace).at(-2));
      expect(statements.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['resources-create', expect.stringMatching(/^fan-out(?:-with-positions)?$/), 'commit']),
      );
      expect(under).toEqual(expect.arrayContaining([`SERVER ${call}`, expect.stringMatching(/^CONSUMER/)]));
      expect(statements.map(({ attributes }) => attributes['db.query.text']).join()).toContain('$1');

      const [producer, consumer] = ['PRODUCER', 'CONSUMER'].map((kind) => trace.find((span) => span.kind === kind));
      expect(consumer?.links).toEqual([{ traceId: root.traceId, spanId: producer?.spanId }]);
      for (const span of [producer, consumer]) expect(span?.name).toMatch(topic);
      expect(consumer?.attributes).toMatchObject({
        'messaging.system': 'kafka',
        'messaging.destination.partition.id': producer?.attributes['messaging.destination.partition.id'],
        'messaging.kafka.offset': expect.any(Number),
        'messaging.kafka.message.key': resource.id,
      });
    });

    test('is identified in each of its spans, with workspace, environment, event and webhook', async () => {
      const { root, trace } = await traceOf(target(), requestId, 'POST');
      const { webhook, key } = target();
      const { json } = await delivered(requestId);
      const ours = {
        'rms.request_id': requestId,
        'rms.workspace_id': expect.stringMatching(/^ws_/),
        'rms.environment': 'live',
      };
      expect(root.attributes).toEqual({
        ...ours,
        'rms.key_id': key.id,
        'http.request.method': 'POST',
        'http.route': '/v1/resources',
        'http.response.status_code': 201,
        'url.scheme': 'http',
      });
      for (const kind of ['PRODUCER', 'CONSUMER']) {
        const span = trace.find((one) => one.kind === kind);
        expect(span?.attributes).toMatchObject({
          ...ours,
          'rms.event_id': json.id,
          'rms.event_type': 'resource.created',
        });
      }
      expect(trace.find(({ name }) => name === 'POST')?.attributes).toMatchObject({
        ...ours,
        'rms.event_id': json.id,
        'rms.webhook_id': webhook.id,
        'rms.delivery_id': expect.stringMatching(/^dlv_/),
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': target().receiver.port,
      });
    });

    test('has the same trace in the delivery and the delivery log, and is found by rms trace', async () => {
      const { root, trace } = await traceOf(target(), requestId, 'POST');
      const { headers, json } = await delivered(requestId);
      const attempt = trace.find(({ name }) => name === 'POST');
      expect(headers.traceparent).toBe(`00-${root.traceId}-${attempt?.spanId}-01`);
      const { data } = await rms<DeliveryList>('deliveries', 'list');
      const delivery = data.find(({ event_id: id }) => id === json.id);
      await waitUntil(
        async () => {
          const { trace_id: traceId, attempts } = await rms<DeliveryShown>('deliveries', 'show', delivery?.id ?? '');
          const sent = attempts[0]?.request.headers.traceparent;
          return traceId === root.traceId && sent === headers.traceparent;
        },
        { what: 'the trace in the delivery log' },
      );
      const traced = await traceWhen(
        requestId,
        ({ requests, deliveries }) => requests.length > 0 && deliveries[0]?.attempts.length === 1,
      );
      const { key } = target();
      expect(traced).toMatchObject({
        request_id: requestId,
        trace_ids: [root.traceId],
        requests: [
          {
            environment: 'live',
            method: 'POST',
            route: '/v1/resources',
            status: 201,
            error_code: null,
            api_key_id: key.id,
            api_key_hint: expect.any(String),
            api_key_name: 'Tracer',
            trace_id: root.traceId,
          },
        ],
        events: [
          {
            id: json.id,
            partition: Number(
              trace.find(({ kind }) => kind === 'CONSUMER')?.attributes['messaging.destination.partition.id'],
            ),
            offset: String(trace.find(({ kind }) => kind === 'CONSUMER')?.attributes['messaging.kafka.offset']),
            trace_id: root.traceId,
          },
        ],
        deliveries: [{ id: delivery?.id, attempts: [{ status: 200 }] }],
      });
      const shown = traced.steps.map(({ text }) => text).join('\n');
      for (const part of ['POST /v1/resources', 'committed', 'responded 201', '(partition ', 'attempt 1 of']) {
        expect(shown).toContain(part);
      }
      expect(JSON.stringify(traced)).not.toContain(key.key);
    });
  });

  test('the trace of a client is linked, not continued', async () => {
    const requestId = `trace-${Date.now()}-client`;
    await createFor(target(), requestId, { traceparent: `00-${clientTrace}-${clientSpan}-01` });
    const { root } = await traceOf(target(), requestId, 'POST');
    expect(root).toMatchObject({ parentSpanId: '', links: [{ traceId: clientTrace, spanId: clientSpan }] });
    expect(root.traceId).not.toBe(clientTrace);
    expect((await delivered(requestId)).headers.traceparent).not.toContain(clientTrace);
  });

  test('concurrent requests have separate traces, and shared spans are linked', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `trace-${Date.now()}-many-${i}`);
    await Promise.all(ids.map((id) => createFor(target(), id)));
    const traces = new Set<string>();
    let shared = 0;
    for (const id of ids) {
      const { root, trace } = await traceOf(target(), id, 'POST');
      traces.add(root.traceId);
      const named = trace.flatMap(({ attributes }) => attributes['rms.request_id'] ?? []);
      expect(new Set(named)).toEqual(new Set([id]));
      const statements = trace.filter(({ name }) => name === 'resources-create');
      expect(statements).toHaveLength(1);
      for (const { attributes, links } of statements) {
        if (links.length > 0) shared += 1;
        if (links.length > 0) expect(attributes['rms.batch.size']).toBeGreaterThan(1);
      }
    }
    expect(traces.size).toBe(ids.length);
    expect(shared).toBeGreaterThan(0);
  });

  test('rms trace finds requests without events: a read and a rejected request, but none without a key', async () => {
    const { client, shape } = target();
    const at = (what: string) => `trace-${Date.now()}-${what}`;
    const [read, refused, unknown] = [at('read'), at('refused'), at('unknown')];
    await fetch(`${shape.liveUrl}/v1/resources`, { headers: { 'x-request-id': unknown } });
    await client.get('/v1/resources', { headers: { 'x-request-id': read } });
    await client.post('/v1/resources', { name: '' }, { headers: { 'x-request-id': refused } });
    const expected = [
      [read, { method: 'GET', route: '/v1/resources', status: 200, error_code: null }],
      [refused, { method: 'POST', route: '/v1/resources', status: 400, error_code: 'invalid_request' }],
    ] as const;
    for (const [id, request] of expected) {
      const traced = await traceWhen(id, ({ requests }) => requests.length > 0);
      expect(traced).toMatchObject({ requests: [request], events: [], deliveries: [] });
      expect(traced.steps).toHaveLength(2);
    }
    await expect(rms('trace', unknown)).rejects.toThrow('No record of request');
  });

  test('spans contain no secrets', async () => {
    const { collector, key, webhook } = target();
    const text = JSON.stringify(await collector.spans());
    for (const secret of [
      key.key,
      webhook.secret ?? 'no secret',
      ...secretPath.split(/[/?=]/).filter((part) => part.startsWith('s3cr3t')),
    ]) {
      expect(text).not.toContain(secret);
    }
  });

  async function traceWhen(requestId: string, isThere: (traced: Traced) => boolean): Promise<Traced> {
    return waitUntil(
      async () => {
        const traced = await rms<Traced>('trace', requestId);
        return isThere(traced) ? traced : undefined;
      },
      { what: `rms trace ${requestId}` },
    );
  }
}
