import { z } from 'zod';
import { type Endpoint, type OpenCall, openEndpoint } from './endpoint.ts';

const body = z.strictObject({ token: z.string().max(2_000) });

/** Creates an endpoint for a page that a link in an alert email opens. The link's token authorizes the call. */
export function linkEndpoint(
  path: `/api/${string}`,
  handle: (call: OpenCall<unknown, z.infer<typeof body>>) => Promise<object | undefined>,
): Endpoint {
  return openEndpoint({ access: 'open', method: 'post', path, body, handle });
}
