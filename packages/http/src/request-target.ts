import type { IncomingMessage } from 'node:http';

const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)([^#]*)/i;

/**
 * Rewrites an absolute-form request target ("GET http://host/v1/resources") to its path and query, and Host to the host
 * of the target (RFC 9112, 3.2.2), so that routing, logs and traces see one form. Call it before anything reads
 * `request.url`.
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/' } = request;
  if (url.startsWith('/')) return;
  const parts = absoluteForm.exec(url);
  if (!parts) return;
  const [, host = '', rest = ''] = parts;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
}
