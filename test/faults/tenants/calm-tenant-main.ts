// A calm tenant's thread: creates resources at a constant rate and receives their events. Posts a CalmMessage for
// every create and event. Ends after the message 'stop'. A separate thread keeps the test's work out of the
// measured times.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { startReceiver } from '@rms/testkit';
import { createApiClient, expectStatus } from '../../api/support/api-client.ts';
import type { Envelope, One, Resource } from '../../api/support/api-types.ts';
import type { CalmMessage, CalmOptions } from './calm-tenant.ts';

const { liveUrl, key, perSecond } = workerData as CalmOptions;
const client = createApiClient(liveUrl, key);
const receiver = await startReceiver();
const post = (message: CalmMessage) => parentPort?.postMessage(message);
receiver.respondWith(({ json, receivedAtMs }, response) => {
  response.end();
  post({ resourceId: (json as Envelope).data.object.id, receivedAtMs });
});
expectStatus(await client.post('/v1/webhooks', { url: receiver.url, events: ['resource.created'] }), 201);

let stopping = false;
parentPort?.once('message', () => {
  stopping = true;
});

const running = new Set<Promise<void>>();
const create = async (number: number) => {
  const startedAtMs = Date.now();
  const { status, text, body } = await client
    .post<One<Resource>>('/v1/resources', { name: `calm ${number}` })
    .catch((error: Error) => ({ status: 0, text: error.message, body: undefined }));
  const resourceId = status === 201 ? (body?.data.id ?? '') : '';
  post({ startedAtMs, endedAtMs: Date.now(), status, text: status === 201 ? '' : text, resourceId });
};
const beganAtMs = performance.now();
let started = 0;
while (!stopping) {
  // A slow response does not delay the next request.
  const due = ((performance.now() - beganAtMs) * perSecond) / 1_000;
  for (; started < due; started += 1) {
    const one = create(started).finally(() => running.delete(one));
    running.add(one);
  }
  await delay(10);
}
await Promise.all(running);
post('stopped');
