import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient } from '@rms/rpc';
import { apiCaller, localServices, type Receiver, startReceiver } from '@rms/testkit';
import { reportHistory } from './fill-history.ts';

export interface Filled {
  /** Ids for page URLs. */
  readonly webhook: string;
  readonly failing: string;
  readonly retried: string;
  readonly resource: string;
  /** X-Request-ID of a request with a delivered event. */
  readonly request: string;
  /** A rolled key. */
  readonly key: string;
  /** Stops the endpoints. */
  stop(): Promise<void>;
}

export interface FillOptions {
  readonly liveUrl: string;
  readonly dataDir: string;
  readonly workspaceId: string;
  /** A live key with the scope admin. */
  readonly key: string;
}

const dayMs = 86_400_000;
const teams = ['payments', 'search', 'catalogue', 'logistics', 'support'];
const nouns = ['Invoice', 'Shipment', 'Product', 'Customer', 'Contract', 'Refund', 'Parcel', 'Supplier', 'Campaign'];

/**
 * Fills a workspace with realistic data: resources, webhooks that succeed, fail or return 410, a few hundred
 * deliveries, keys and invitations of every kind, and a month of usage.
 */
export async function fill({ liveUrl, dataDir, workspaceId, key }: FillOptions): Promise<Filled> {
  const { security, ...addresses } = localServices(dataDir);
  const options = (target: string) => ({ target, security, timeoutMs: 60_000, context: { actor: 'operator:test' } });
  const webhooks = createClient(WebhooksService, options(addresses.webhooks));
  const keys = createClient(KeysService, options(addresses.auth));
  const invitations = createClient(InvitationsService, options(addresses.auth));
  const tenant = { workspaceId, environment: Environment.LIVE };
  const call = apiCaller(`${liveUrl}/v1/`, key, { 'User-Agent': 'acme-backend/4.2' });

  const receivers = await endpoints();
  const subscribe = (receiver: Receiver, path: string, events: readonly string[]) =>
    call('POST', 'webhooks', { url: receiver.url.replace('/hook', path), events });
  const orders = await subscribe(receivers.good, '/orders/events', ['*']);
  const failing = await subscribe(receivers.failing, '/billing/hooks', ['resource.created', 'resource.updated']);
  const retried = await subscribe(receivers.slow, '/search/index', ['resource.created']);
  const delays = (...seconds: number[]) => ({
    maxRetries: seconds.length,
    delays: seconds.map((one) => durationFromMs(one * 1000)),
  });
  await webhooks.updateWebhook({ ...tenant, id: failing.id, retryPolicy: delays(1) });
  await webhooks.updateWebhook({ ...tenant, id: retried.id, retryPolicy: delays(5, 300, 1800, 7200, 43_200) });

  const created: { id: string; requestId: string }[] = [];
  for (let i = 0; i < 90; i += 1) {
    const team = teams[i % teams.length] as string;
    const name = `${nouns[(i * 7) % nouns.length]} ${2_040 + i * 13}`;
    created.push(
      await call('POST', 'resources', {
        name,
        metadata: {
          team,
          order: `SO-${88_000 + i}`,
          region: i % 3 ? 'eu-central' : 'us-east',
          amount: `${19 + i}.90 EUR`,
        },
      }),
    );
  }
  const first = created[0] as { id: string; requestId: string };
  for (const [i, { id }] of created.entries()) {
    if (i % 2 === 0) await call('PATCH', `resources/${id}`, { metadata: { reviewed_by: `clerk-${i % 7}` } });
    if (i % 9 === 4) await call('PATCH', `resources/${id}`, { status: 'archived' });
    if (i % 15 === 7) await call('DELETE', `resources/${id}`);
  }
  await subscribe(receivers.gone, '/old/crm', ['resource.updated']);
  await call('PATCH', `resources/${first.id}`, { name: 'Invoice 2040 (corrected)' });

  const makeKey = (name: string, more: object = {}) =>
    keys.createKey({ ...tenant, scope: Scope.WRITE, name, ...more }).then(({ key: created }) => created?.id ?? '');
  await makeKey('acme-backend', { allowedIps: ['203.0.113.0/24', '2001:db8::/48'] });
  await makeKey('nightly import', { expireTime: timestampFromMs(Date.now() + 5 * dayMs) });
  await makeKey('status page', { scope: Scope.READ, rateLimitRequests: 60n });
  const rolled = await makeKey('mobile gateway');
  await keys.rollKey({ workspaceId, id: rolled, overlap: durationFromMs(dayMs) });
  await keys.revokeKey({ workspaceId, id: await makeKey('contractor laptop') });
  await invitations.createInvitation({ workspaceId, email: 'mina.okafor@example.com', role: Role.DEVELOPER });
  await reportHistory(options(addresses.alerts), tenant, [orders.id, failing.id, retried.id]);

  // Wait until the disabled endpoint has received its last event and failing deliveries have failed permanently.
  await receivers.gone.waitFor(() => true, 'the attempt at the endpoint that returns 410');
  for (const client of [webhooks, keys, invitations]) client.close();
  return {
    webhook: orders.id,
    failing: failing.id,
    retried: retried.id,
    resource: first.id,
    request: first.requestId,
    key: rolled,
    async stop() {
      await Promise.all(Object.values(receivers).map((receiver) => receiver.close()));
    },
  };
}

/** Starts endpoints that behave like real ones: reliable, intermittently failing, occasionally unavailable, gone. */
async function endpoints() {
  const [good, failing, slow, gone] = await Promise.all([
    startReceiver(),
    startReceiver(),
    startReceiver(),
    startReceiver(),
  ]);
  const json = { 'Content-Type': 'application/json' };
  good.respondWith((_, response) => {
    response.writeHead(200, { ...json, 'X-Served-By': 'orders-7f9c' }).end('{"received":true}');
  });
  let count = 0;
  failing.respondWith((_, response) => {
    count += 1;
    if (count % 3 === 0) response.writeHead(200, json).end('{"ok":true}');
    else response.writeHead(500, json).end('{"error":"ECONNREFUSED 10.4.0.12:5432","trace":"billing-worker-3"}');
  });
  let late = 0;
  slow.respondWith((_, response) => {
    late += 1;
    if (late % 8 === 0) response.writeHead(503, { 'Retry-After': '30' }).end('upstream connect error');
    else response.writeHead(200).end();
  });
  gone.respondWith(410);
  return { good, failing, slow, gone };
}
