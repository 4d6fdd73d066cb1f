import { waitUntil } from '@rms/testkit';
import type { DeliveryList } from '../../api/support/api-types.ts';
import { createFor, type TracedShape, traceOf } from './traced-request.ts';

interface LoggedShape extends TracedShape {
  /** Returns the log of each process. */
  logs(): string[];
}

interface AuditList {
  readonly data: readonly { readonly action: string; readonly request_id: string }[];
}

/** Invariant 7: the same id appears in every record of a request. */
export function requestIdSuite(target: () => LoggedShape): void {
  describe('an X-Request-ID', () => {
    const requestId = `follow-${Date.now()}`;

    test('is in the response, the log, the spans, the delivery and the delivery log', async () => {
      const { client, receiver, shape } = target();
      await createFor(target(), requestId);
      const { root, trace } = await traceOf(target(), requestId, 'POST');
      for (const kind of ['SERVER', 'PRODUCER', 'CONSUMER']) {
        const ids = trace.filter((span) => span.kind === kind).map(({ attributes }) => attributes['rms.request_id']);
        expect(ids).toContain(requestId);
      }
      const received = await receiver.waitFor(({ headers }) => headers['x-request-id'] === requestId, 'its delivery');
      const { data } = await shape.rms<DeliveryList & { data: { request_id: string }[] }>('deliveries', 'list');
      expect(data.find(({ event_id: id }) => id === received.json.id)).toMatchObject({ request_id: requestId });
      const lines = await waitUntil(
        () => {
          const found = target()
            .logs()
            .flatMap((log) => log.split('\n'))
            .filter((line) => line.includes(requestId));
          return found.length > 0 ? found : undefined;
        },
        { what: 'a log line' },
      );
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(
        expect.objectContaining({ msg: 'request', request_id: requestId, trace_id: root.traceId, status: 201 }),
      );
      const refused = await client.get('/v1/resources?nonsense=1', {
        headers: { 'x-request-id': `${requestId}-refused` },
      });
      expect(refused).toMatchObject({ status: 400, headers: { 'x-request-id': `${requestId}-refused` } });
    });

    test('reaches the audit log through gRPC', async () => {
      const { client, receiver, shape } = target();
      const id = `${requestId}-audit`;
      const created = await client.post(
        '/v1/webhooks',
        { url: receiver.url, events: ['resource.deleted'] },
        { headers: { 'x-request-id': id } },
      );
      expect(created.headers['x-request-id']).toBe(id);
      const audit = await shape.rms<AuditList>('audit', '--action', 'webhook.');
      expect(audit.data).toContainEqual(expect.objectContaining({ request_id: id }));
    });
  });
}
