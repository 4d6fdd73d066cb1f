import type { ServerResponse } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { jsonType } from './body.ts';
import { shownText } from './shown-text.ts';

/** An Express request. Routers of Express shorten `url` but not `originalUrl`. */
interface RoutedRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
}

const maxShownLength = 200;

/** Returns `not_found` for a request that no route matches. The message names method and path. */
export function routeNotFound(request: RoutedRequest): RmsError {
  return new RmsError('not_found', {
    message: `Not found: no route matches \`${request.method} ${pathOf(request)}\`.`,
  });
}

/**
 * Returns `method_not_allowed` and sets `Allow`, and `Accept-Patch` if PATCH is allowed (RFC 5789, 3.1). The message
 * names path, method and the allowed methods.
 */
export function methodNotAllowed(
  request: RoutedRequest,
  response: ServerResponse,
  allowed: readonly string[],
): RmsError {
  const methods = allowed.join(', ');
  response.setHeader('Allow', methods);
  if (allowed.includes('PATCH')) response.setHeader('Accept-Patch', jsonType);
  const message = `\`${pathOf(request)}\` does not support ${request.method}. It supports ${methods}.`;
  return new RmsError('method_not_allowed', { message });
}

/** Returns the path as sent, without the query and secrets. Shortens a long path. */
function pathOf({ originalUrl, url = '/' }: RoutedRequest): string {
  const [sent = '/'] = (originalUrl ?? url).split('?', 1);
  return shownText(sent, maxShownLength);
}
