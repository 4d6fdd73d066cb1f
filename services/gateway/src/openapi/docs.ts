import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { sendResponse } from '@rms/http';
import type { Express } from 'express';
import type { WebhookUrls } from '../config.ts';
import { mountOpen } from '../routes/shared/mount.ts';
import { openApiDocument } from './document.ts';

/**
 * Allows only files of this service and no inline scripts. Swagger UI needs inline styles and images from data: URLs.
 */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Resource Management Service</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const startScript = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });\n`;

/** Serves the OpenAPI document, and Swagger UI without external resources. */
export function mountDocs(app: Express, webhookUrls: WebhookUrls): void {
  const description = once(() => JSON.stringify(openApiDocument(webhookUrls)));
  mountOpen(app, '/openapi.json', (response) => sendResponse(response, { status: 200, json: description() }));
  mountFile(app, '/docs', 'text/html', () => Buffer.from(page));
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
