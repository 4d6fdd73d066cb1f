import { createLogger } from '@rms/runtime/logging';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks } from '../support.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('Attempts', () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const rms = perSuite(() => startWebhooks({}, { log: createLogger({ name: 'webhooks', destination }) }));
  const receiver = perSuite(startReceiver);

  test('each attempt is logged and counted once, whatever its result; the secret, the URL and the body are not logged', async () => {
    const tenant = newTenant();
    const responses = [500, 302];
    receiver.respondWith((_, response) => void response.writeHead(responses.shift() ?? 404).end('the answer'));
    const webhook = await rms.subscribe(tenant, `${receiver.url}?token=hunter2`, { retryPolicy: retries(2, 10) });
    const event = newEvent(tenant);
    event.traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    await rms.publish(event);
    const [delivery] = await rms.settled(tenant, 1);
    receiver.respondWith(200);
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 2);

    const attempts = await waitUntil(
      () => {
        const found = lines.filter(({ msg }) => msg === 'attempt');
        return found.length === 4 && found;
      },
      { what: 'one line per attempt' },
    );
    const named = {
      service: 'webhooks',
      request_id: event.requestId,
      trace_id: traceId,
      workspace_id: tenant.workspaceId,
      environment: 'live',
      event_id: event.id,
      webhook_id: webhook.id,
      delivery_id: delivery?.id,
      duration_ms: expect.any(Number),
    };
    expect(attempts.slice(0, 3)).toMatchObject([
      { ...named, level: 'info', attempt: 1, result: 'retry', status_code: 500, error: 'status: 500' },
      { ...named, level: 'info', attempt: 2, result: 'retry', status_code: 302, error: 'status: 302' },
      { ...named, level: 'warn', attempt: 3, result: 'failed', status_code: 404, error: 'status: 404' },
    ]);
    expect(attempts[3]).toMatchObject({ level: 'info', attempt: 1, result: 'delivered', status_code: 200 });
    expect(attempts[3]).not.toHaveProperty('error');
    expect(JSON.stringify(lines)).not.toMatch(/hunter2|whsec_[^[]|the answer|"thing"/);

    const text = await rms.metrics.metrics();
    const count = (result: string, cause: string) =>
      new RegExp(
        `rms_delivery_attempts_total\\{environment="live",result="${result}",cause="${cause}",[^}]*\\} (\\d+)`,
      ).exec(text)?.[1];
    expect([count('retry', 'status'), count('failed', 'status'), count('delivered', 'none')]).toEqual(['2', '1', '1']);
    expect(text).toMatch(/rms_delivery_age_seconds_count\{[^}]*\} 1\n/);
    expect(text).toMatch(/rms_delivery_first_attempt_age_seconds_count\{[^}]*endpoint="working"[^}]*\} [12]\n/);
  });

  test('a redelivery is counted but does not affect the age metric', async () => {
    const tenant = newTenant();
    receiver.respondWith(200);
    await rms.subscribe(tenant, receiver.url);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    const before = await rms.metrics.metrics();
    await rms.deliveries.redeliverDelivery({ ...tenant, id: delivery?.id ?? '' });
    await waitUntil(async () => (await rms.settled(tenant, 1))[0]?.attempts.length === 2, { what: 'the redelivery' });
    const agesIn = (text: string) => /rms_delivery_age_seconds_count\{[^}]*\} (\d+)/.exec(text)?.[1];
    expect(agesIn(await rms.metrics.metrics())).toBe(agesIn(before));
  });
});
