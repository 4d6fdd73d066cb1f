import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { WebhookUrls } from '@rms/api';
import { mountOpen } from '@rms/net/http';
import type { Express, Response } from 'express';
import { openApiDocument } from './document.ts';

/** Allows only files of this service and no inline scripts. Scalar needs inline styles and images from data: URLs. */
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
  </head>
  <body>
    <div id="reference"></div>
    <script src="docs/scalar.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** The dashboard's icon, services/dashboard/web/public/icon.svg. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#4f46e5"/>' +
  '<path d="M9 22V10h7.2c2.7 0 4.4 1.5 4.4 3.9 0 1.8-1 3.1-2.7 3.6L21.4 22h-3.3l-3.1-4.2H12V22H9Zm3-6.6h3.9c1.1 0 ' +
  '1.8-.6 1.8-1.5s-.7-1.5-1.8-1.5H12v3Z" fill="#fff"/></svg>';

/** Without Scalar's own services: fonts, telemetry, request proxy, agent. Scalar does not store the API key. */
const configuration = {
  url: 'openapi.json',
  authentication: { preferredSecurityScheme: 'apiKey' },
  documentDownloadType: 'json',
  // The document's samples are complete; generated ones of other languages would not use our clients.
  hiddenClients: true,
  hideClientButton: true,
  persistAuth: false,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
};
const startScript = `Scalar.createApiReference('#reference', ${JSON.stringify(configuration)});\n`;

/**
 * Serves the OpenAPI document, and Scalar, a viewer, without external resources.
 * @param basePath the path under which a proxy serves the API, or '/'
 */
export function mountDocs(app: Express, webhookUrls: WebhookUrls, basePath: string): void {
  mountFile(app, '/openapi.json', 'application/json', () => JSON.stringify(openApiDocument(webhookUrls, basePath)));
  mountPageFile(app, '/docs', 'text/html', () => page);
  // Browsers request /favicon.ico next to pages that name no icon, such as /openapi.json.
  for (const path of ['/docs/icon.svg', '/favicon.ico']) mountPageFile(app, path, 'image/svg+xml', () => icon);
  mountPageFile(app, '/docs/start.js', 'text/javascript', () => startScript);
  mountPageFile(app, '/docs/scalar.js', 'text/javascript', readViewer);
}

function mountPageFile(app: Express, path: string, type: string, make: () => string | Promise<string>): void {
  mountFile(app, path, type, make, (response) => response.setHeader('Content-Security-Policy', pagePolicy));
}

/** Serves a file that is made and compressed on its first request; only the compressed form stays in memory. */
function mountFile(
  app: Express,
  path: string,
  type: string,
  make: () => string | Promise<string>,
  prepare: (response: Response) => void = () => {},
): void {
  const file = once(async () => {
    const content = Buffer.from(await make());
    const hash = createHash('sha256').update(content).digest('base64url');
    // Weak, because the compressed form has the same tag.
    return { packed: await promisify(gzip)(content), size: content.length, etag: `W/"${hash}"` };
  });
  mountOpen(app, path, async (response) => {
    const { packed, size, etag } = await file();
    prepare(response);
    response.setHeader('ETag', etag);
    response.setHeader('Cache-Control', 'no-cache');
    response.setHeader('Vary', 'Accept-Encoding');
    if (response.req.fresh) {
      response.status(304).end();
      return;
    }
    const isPacked = response.req.acceptsEncodings('gzip') === 'gzip';
    if (isPacked) response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Type', `${type}; charset=utf-8`);
    response.setHeader('Content-Length', isPacked ? packed.length : size);
    response.end(isPacked || response.req.method === 'HEAD' ? packed : await promisify(gunzip)(packed));
  });
}

/**
 * Reads Scalar's script from its package for Fastify, which has it as a string: the package of the script alone depends
 * on 280 others. The package is not imported, because the string would stay in memory.
 */
async function readViewer(): Promise<string> {
  const text = await readFile(createRequire(import.meta.url).resolve('@scalar/fastify-api-reference'), 'utf8');
  const literal = /^var standalone_default = (".*");$/m.exec(text)?.[1];
  if (literal === undefined) throw new Error('@scalar/fastify-api-reference does not contain the script');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON must escape them, JavaScript does not.
  const escaped = literal.replaceAll(/[\0-\x1f]/g, (character) => JSON.stringify(character).slice(1, -1));
  return JSON.parse(escaped) as string;
}

/** Returns a function that calls `make` on its first call and caches the result. */
function once<T>(make: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= make();
    return created;
  };
}
