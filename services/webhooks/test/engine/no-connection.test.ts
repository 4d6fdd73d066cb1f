import { Socket } from 'node:net';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks } from '../support.ts';

/** Makes every connection to a port fail as if this process had no file descriptor left. Returns the undo function. */
function withoutDescriptors(port: number): () => void {
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    if ((args[0] as { port?: unknown }).port !== port) return connect.apply(this, args as never);
    const error = Object.assign(new Error(`connect EMFILE 127.0.0.1:${port}`), { code: 'EMFILE' });
    setImmediate(() => this.destroy(error));
    return this;
  } as typeof connect;
  return () => {
    Socket.prototype.connect = connect;
  };
}

describe('without a file descriptor for a connection', () => {
  let restore = () => {};
  afterEach(() => restore());
  const rms = perTest(startWebhooks);
  const receiver = perTest(startReceiver);

  test('a delivery waits without an attempt, also without retries, and is delivered later', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url);
    await rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy: { maxRetries: 0 } });
    restore = withoutDescriptors(Number(new URL(receiver.url).port));
    await rms.publish(newEvent(tenant));
    const lost = async () =>
      /rms_delivery_attempts_lost_total\{reason="connection"[^}]*\} ([1-9]\d*)/.exec(await rms.metrics.metrics());
    await waitUntil(lost, { what: 'a released delivery' });
    expect(await rms.list(tenant)).toMatchObject([{ status: DeliveryStatus.PENDING, attempts: [] }]);
    restore();
    expect(await rms.settled(tenant, 1)).toMatchObject([
      { status: DeliveryStatus.DELIVERED, attempts: [{ number: 1, error: '' }] },
    ]);
    expect(receiver.requests).toHaveLength(1);
  });
});
