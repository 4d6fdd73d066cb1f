import type { IncomingMessage } from 'node:http';
import { isHost } from './host.ts';

const absoluteForm = /^https?:\/\/([^/?#]*)([^#]*)/i;

/**
 * Rewrites an absolute-form request target ("GET http://host/v1/resources") to its path and query, and Host to the host
 * of the target (RFC 9112, 3.2.2), so that routing, logs and traces see one form. Keeps a Host that is missing or
 * invalid, because such a request is refused in any form. Call it before anything reads `request.url`.
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/', headers, httpVersion } = request;
  if (url.startsWith('/')) return;
  const parts = absoluteForm.exec(url);
  if (!parts) return;
  const [, host = '', rest = ''] = parts;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  if (headers.host === undefined ? httpVersion === '1.0' : isHost(headers.host)) headers.host = host;
}
