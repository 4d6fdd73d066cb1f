import { request } from 'undici';

/** Subscribes a receiver's path to events; returns the webhook's id. */
export async function createWebhook(baseUrl, headers, url, path = '/hook', type = 'resource.created') {
  const { statusCode, body } = await request(`${baseUrl}/v1/webhooks`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ url: url + path, events: [type] }),
  });
  const text = await body.text();
  if (statusCode !== 201) throw new Error(`creating the webhook returned ${statusCode}: ${text}`);
  return JSON.parse(text).data.id;
}
