// A server for Bun, Deno and workerd that uses the packed @rms/client. POST /scenario calls the API at `url` with `key`,
// and responds with the created resource's ID and the secret of a webhook to `own`; GET /received responds with the IDs
// of resources whose events this server has received and verified at /hook.
import {
  ApiError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  Rms,
  verifyWebhook,
  WebhookVerificationError,
} from '@rms/client';

interface Input {
  readonly url: string;
  readonly key: string;
  /** URL of this server. */
  readonly own: string;
}

/** More than the items of a page. */
const created = 5;
/** Longer than any call of the scenario. */
const maxMs = 600_000;
const received: string[] = [];
let secret = '';

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

async function runScenario({ url, key, own }: Input): Promise<object> {
  const rms = new Rms({ url, apiKey: key });
  const { data: webhook } = await rms.webhooks.create({ url: `${own}/hook`, events: ['resource.created'] });
  secret = webhook.secret ?? '';
  const start = (await rms.events.list({ after: 0 }).page()).meta.newest_sequence;

  const metadata = { server: own };
  const create = () => rms.resources.create({ name: 'Grüße 李', metadata }, { idempotencyKey: own });
  const { data: resource } = await create();
  const repeated = await create();
  expect(repeated.isReplayed && repeated.data.id === resource.id, 'the repeated call has another result');
  for (let i = 1; i < created; i += 1) await rms.resources.create({ name: `Item ${i}`, metadata });
  const names = [];
  for await (const { name } of rms.resources.list({ per_page: 2, metadata })) names.push(name);
  expect(names.length === created && names.includes('Grüße 李'), `the list has ${names.join(', ')}`);
  for await (const { data } of rms.events.feed({ after: start, follow: true, pollInterval: 50 })) {
    if (data?.object.id === resource.id) break;
  }

  const read = await rms.resources.get(resource.id);
  const unchanged = await rms.resources.get(resource.id, { ifNoneMatch: read.etag });
  expect(unchanged.status === 304, 'an unchanged resource is sent again');
  const invalid = await errorOf(rms.resources.create({ name: '' }));
  expect(invalid instanceof InvalidRequestError && invalid.violations[0]?.field === 'name', `${invalid}`);
  const { data: last } = await rms.resources.create({ name: 'Deleted' });
  expect((await rms.resources.delete(last.id)).status === 204, 'the resource is not deleted');
  const missing = await errorOf(rms.resources.get(last.id));
  expect(missing instanceof NotFoundError && missing.code === 'not_found', `${missing}`);
  await testLostConnections(own);
  return { id: resource.id, secret };
}

/** Tests errors and signals without a response of the API. `own` responds to /v1/redirected, and never to /v1/events. */
async function testLostConnections(own: string): Promise<void> {
  const refused = await errorOf(
    new Rms({ url: 'http://127.0.0.1:1', apiKey: 'x', maxRetries: 0 }).events.list().page(),
  );
  expect(refused instanceof ConnectionError && refused.message.length > 40, `${refused}`);
  const silent = new Rms({ url: own, apiKey: 'x', maxRetries: 0 });
  const late = await errorOf(silent.events.list({}, { timeout: 50 }).page());
  expect(late instanceof ConnectionError && late.message.includes('no response within 50 ms'), `${late}`);
  const controller = new AbortController();
  const call = errorOf(silent.events.list({}, { signal: controller.signal }).page());
  setTimeout(() => controller.abort('enough'), 50);
  const reason = await call;
  expect(reason === 'enough', `the aborted call rejects with ${reason}`);
  const redirected = await errorOf(silent.resources.get('moved'));
  expect(redirected instanceof ApiError && redirected.code === undefined, `${redirected}`);
}

function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

async function receive(request: Request): Promise<Response> {
  try {
    const event = await verifyWebhook(await request.arrayBuffer(), request.headers, secret);
    if (event.type === 'resource.created') received.push(event.data.object.id);
    return new Response();
  } catch (error) {
    if (error instanceof WebhookVerificationError) return new Response(error.message, { status: 401 });
    throw error;
  }
}

// biome-ignore lint/style/noDefaultExport: the runtimes serve the default export.
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, origin } = new URL(request.url);
    switch (pathname) {
      case '/scenario': {
        const scenario = runScenario((await request.json()) as Input);
        return scenario.then(
          (result) => Response.json(result),
          (error: unknown) => new Response(error instanceof Error ? error.stack : `${error}`, { status: 500 }),
        );
      }
      case '/hook':
        return receive(request);
      case '/received':
        return Response.json(received);
      case '/v1/events':
        // workerd ends a request that waits for nothing.
        return new Promise((resolve) => setTimeout(resolve, maxMs, new Response()));
      case '/v1/resources/moved':
        return Response.redirect(`${origin}/received`);
      default:
        return new Response(null, { status: 404 });
    }
  },
};
