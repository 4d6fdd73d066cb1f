import { request } from 'undici';

/** Subscribes a URL to resource.created. */
export async function createWebhook(baseUrl, headers, url) {
  const { statusCode, body } = await request(`${baseUrl}/v1/webhooks`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ url: `${url}/hook`, events: ['resource.created'] }),
  });
  const text = await body.text();
  if (statusCode !== 201) throw new Error(`the webhook was answered ${statusCode}: ${text}`);
}
