// Calls the API with the client that openapi-generator creates for TypeScript (typescript-fetch), in the folder
// "client". Arguments: URL of the API, key, URL for the webhook. Prints the created resource's ID.
import { Configuration, EventsApi, type FeedEvent, ResourcesApi, ResponseError, WebhooksApi } from './client/index';

const [url = '', key = '', webhookUrl = ''] = process.argv.slice(2);
const configuration = new Configuration({ basePath: url, accessToken: key });
const [webhooks, resources] = [new WebhooksApi(configuration), new ResourcesApi(configuration)];
const feed = new EventsApi(configuration);

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

async function run(): Promise<void> {
  const { data: webhook } = await webhooks.createWebhook({ createWebhook: { url: webhookUrl, events: ['*'] } });
  expect(webhook.secret?.startsWith('whsec_') === true, 'the webhook has no secret');
  const { data: listed } = await webhooks.listWebhooks();
  expect(
    listed.some(({ id }) => id === webhook.id),
    'the list has no webhook',
  );

  const start = (await feed.listEvents({ after: 0 })).meta.newestSequence;
  const create = {
    createResource: { name: 'Grüße', metadata: { team: 'blue' } },
    idempotencyKey: 'typescript-1',
  };
  const { data: created } = await resources.createResource(create);
  const { data: repeated } = await resources.createResource(create);
  expect(repeated.id === created.id && repeated.metadata.team === 'blue', 'the repetition has another result');
  const { data: found } = await resources.listResources({ perPage: 10 });
  expect(
    found.some(({ id, name }) => id === created.id && name === 'Grüße'),
    'the list has no resource',
  );

  const waitFor = async (condition: (event: FeedEvent) => boolean, what: string) => {
    const deadlineMs = Date.now() + 60_000;
    while (!(await feed.listEvents({ after: start })).data.some(condition)) expect(Date.now() < deadlineMs, what);
  };
  await waitFor(({ data }) => data?.object.id === created.id, 'the feed does not contain the event');
  await resources.deleteResource({ id: created.id });
  await waitFor(({ data }) => data === null, 'the event of the deleted resource is not erased');

  const missing = await resources.getResource({ id: 'res_0' }).catch((error: unknown) => error);
  expect(missing instanceof ResponseError && missing.response.status === 404, 'a missing resource was found');
  console.log(created.id);
}

run().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
