import { randomUUID } from 'node:crypto';
import { startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../../api/support/api-client.ts';
import type { One, Resource } from '../../api/support/api-types.ts';
import { subscribe } from '../../api/support/subscriber.ts';
import type { Component } from '../support/release.ts';
import type { Stage } from '../support/stage.ts';

/** The fields of `rms trace --json` that the tests use. */
interface Trace {
  readonly trace_ids: readonly string[];
  readonly requests: readonly {
    readonly status: number;
    readonly route: string;
    readonly api_key_hint: string;
  }[];
  readonly events: readonly { readonly id: string; readonly partition: number; readonly offset: string }[];
  readonly deliveries: readonly {
    readonly status: string;
    readonly attempts: readonly { readonly status: number }[];
  }[];
  readonly steps: readonly { readonly at: string; readonly text: string }[];
}

/** The services that handle a request. */
const services = ['gateway', 'auth', 'resources', 'webhooks'] as const;

export function walkSuite(stage: () => Stage): void {
  describe('One request, followed by its X-Request-ID', () => {
    const requestId = `walk-${randomUUID()}`;
    let trace: Trace;
    let key: string;
    let delivered: Readonly<Record<string, string>>;

    beforeAll(async () => {
      const { newAccount } = stage();
      const account = await newAccount();
      const client = await account.client('live', 'admin');
      const receiver = await startReceiver({ path: '' });
      const subscriber = await subscribe(client, receiver);
      // A new key, so that the gateway must look it up in auth.
      ({ key } = await account.newKey('live', 'write'));
      const options = { key, headers: { 'x-request-id': requestId } };
      const created = await client.post<One<Resource>>('/v1/resources', { name: 'Followed' }, options);
      expect(expectStatus(created, 201).headers['x-request-id']).toBe(requestId);
      const [received] = await subscriber.waitForEventsOf(created.body.data.id, 1);
      delivered = received?.headers ?? {};
      trace = await waitUntil(
        async () => {
          const found = await account.rms<Trace>('trace', requestId);
          const isWhole = found.requests.length > 0 && found.deliveries.some(({ status }) => status === 'delivered');
          return isWhole && found;
        },
        { what: 'rms trace to show the complete request', timeoutMs: 30_000, everyMs: 500 },
      );
      await receiver.close();
    }, 90_000);

    test('rms trace shows the response, the key, the offset in Kafka, the delivery and its attempts, in order', () => {
      expect(trace.requests).toMatchObject([{ status: 201, route: '/v1/resources' }]);
      expect(key).toContain(trace.requests[0]?.api_key_hint.split(/[^0-9A-Za-z_]/)[0]);
      expect(JSON.stringify(trace)).not.toContain(key);
      expect(trace.events).toMatchObject([{ partition: expect.any(Number), offset: expect.stringMatching(/^\d+$/) }]);
      expect(trace.deliveries).toMatchObject([{ status: 'delivered', attempts: [{ status: 200 }] }]);
      const times = trace.steps.map(({ at }) => Date.parse(at));
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });

    test('the delivery contains it and the trace id', () => {
      expect(delivered['x-request-id']).toBe(requestId);
      expect(delivered.traceparent).toContain(trace.trace_ids[0] ?? 'no trace id');
    });

    test('the logs of all services involved contain it', async () => {
      const { release } = stage();
      const linesOf = async (component: Component) => {
        const pods = await release.pods(component);
        const logs = await Promise.all(
          pods.map(({ metadata }) => release.kubernetes.kubectl(['logs', metadata.name, '--tail', '-1'])),
        );
        return logs.flatMap((log) => log.split('\n')).filter((line) => line.includes(`"${requestId}"`));
      };
      for (const service of services) {
        const lines = await linesOf(service);
        expect([service, lines.length]).not.toEqual([service, 0]);
        for (const line of lines) expect(line).not.toContain(key);
      }
    });

    test('the spans that these services export belong to its trace', async () => {
      const { collector } = stage();
      const [traceId] = trace.trace_ids;
      const spans = await collector.waitFor('spans of all services', (all) => {
        const ours = all.filter((span) => span.traceId === traceId);
        return services.every((service) => ours.some((span) => span.service.includes(service)));
      });
      const ours = spans.filter((span) => span.traceId === traceId);
      expect(ours.some(({ attributes }) => attributes['rms.request_id'] === requestId)).toBe(true);
      expect(JSON.stringify(ours)).not.toContain(key);
    });
  });
}
