// npm run portal:demo: an application that embeds the portal, see docs/portal.md. Only its back end knows the API key.
import { createServer } from 'node:http';

const { RMS_URL = 'http://127.0.0.1:8080', RMS_API_KEY = '', PORT = '3000' } = process.env;
const origin = `http://localhost:${PORT}`;

/** Creates a session for one view of the page. */
async function portalUrl() {
  const response = await fetch(`${RMS_URL}/v1/portal_sessions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${RMS_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ return_url: origin, theme: { mode: 'light', primary_color: '#0f766e' } }),
  });
  const { data, error } = /** @type {any} */ (await response.json());
  if (error) throw new Error(error.message);
  return data.url;
}

const pageOf = (url) => `<!doctype html>
<html lang="en">
<title>Demo</title>
<h1>Your application</h1>
<iframe src="${url}" title="Webhooks" allow="clipboard-write" style="width: 100%; height: 80vh"></iframe>
`;

createServer((request, response) => {
  if (request.url !== '/') return response.writeHead(404).end();
  portalUrl().then(
    (url) =>
      response
        .setHeader('Content-Type', 'text/html; charset=utf-8')
        .setHeader('Cache-Control', 'no-store')
        .end(pageOf(url)),
    (error) => response.writeHead(502).end(`${error.message}\n`),
  );
}).listen(Number(PORT), '127.0.0.1', () => console.log(`The demo listens on ${origin}`));
