import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { WebhookUrls } from '@rms/api';
import { mountOpen, sendResponse } from '@rms/net/http';
import type { Express } from 'express';
import { openApiDocument } from './document.ts';

/**
 * Allows only files of this service and no inline scripts. Swagger UI needs inline styles and images from data: URLs.
 */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Its links are relative, so that a proxy may serve the API under a path. */
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Resource Management Service</title>
    <link rel="icon" href="docs/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
  </head>
  <body>
    <div id="reference"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** The dashboard's icon, services/dashboard/web/public/icon.svg. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#4f46e5"/>' +
  '<path d="M9 22V10h7.2c2.7 0 4.4 1.5 4.4 3.9 0 1.8-1 3.1-2.7 3.6L21.4 22h-3.3l-3.1-4.2H12V22H9Zm3-6.6h3.9c1.1 0 ' +
  '1.8-.6 1.8-1.5s-.7-1.5-1.8-1.5H12v3Z" fill="#fff"/></svg>';

const startScript = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });\n`;

/**
 * Serves the OpenAPI document, and Swagger UI without external resources.
 * @param basePath the path under which a proxy serves the API, or '/'
 */
export function mountDocs(app: Express, webhookUrls: WebhookUrls, basePath: string): void {
  const description = once(() => JSON.stringify(openApiDocument(webhookUrls, basePath)));
  mountOpen(app, '/openapi.json', (response) => sendResponse(response, { status: 200, json: description() }));
  mountFile(app, '/docs', 'text/html', () => Buffer.from(page));
  // Browsers request /favicon.ico next to pages that name no icon, such as /openapi.json.
  for (const path of ['/docs/icon.svg', '/favicon.ico']) mountFile(app, path, 'image/svg+xml', () => Buffer.from(icon));
  mountFile(app, '/docs/start.js', 'text/javascript', () => Buffer.from(startScript));
  mountFile(app, '/docs/swagger-ui.css', 'text/css', () => readSwaggerFile('swagger-ui.css'));
  mountFile(app, '/docs/swagger-ui-bundle.js', 'text/javascript', () => readSwaggerFile('swagger-ui-bundle.js'));
}

function mountFile(app: Express, path: string, type: string, read: () => Buffer): void {
  const content = once(read);
  mountOpen(app, path, (response) => {
    response.setHeader('Content-Type', `${type}; charset=utf-8`);
    response.setHeader('Content-Security-Policy', pagePolicy);
    response.setHeader('Cache-Control', 'no-cache');
    response.end(content());
  });
}

function readSwaggerFile(name: string): Buffer {
  return readFileSync(join(dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')), name));
}

/** Returns a function that calls `make` on its first call and caches the result. */
function once<T>(make: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= make();
    return created;
  };
}
