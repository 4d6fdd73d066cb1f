import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { type Express, type Response } from 'express';
import { sendAnswer } from '../respond.ts';
import { openApiDocument } from './document.ts';

const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Resource Management Service: API reference</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const script = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });
`;

/** Everything comes from this listener, and no script stands in the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** /openapi.json, and a reference page for people at /docs. */
export function mountDocs(app: Express): void {
  let json: string | undefined;
  app.get('/openapi.json', (_request, response) => {
    json ??= JSON.stringify(openApiDocument());
    sendAnswer(response, { status: 200, json });
  });
  app.get('/docs', (_request, response) => sendFile(response, 'text/html', page));
  app.get('/docs/start.js', (_request, response) => sendFile(response, 'text/javascript', script));
  app.use(
    '/docs/assets',
    express.static(assets, {
      index: false,
      redirect: false,
      cacheControl: false,
      setHeaders: (response) => response.removeHeader('ETag'),
    }),
  );
}

function sendFile(response: Response, type: string, text: string): void {
  response.setHeader('Content-Security-Policy', contentSecurityPolicy);
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.end(text);
}
