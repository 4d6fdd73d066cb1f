import { RmsError } from '@rms/errors';
import type { Express, Request } from 'express';
import type { ApiResponse } from '../http/locals.ts';
import type { Endpoint } from './endpoint.ts';

export interface Handlers {
  serve(endpoint: Endpoint, request: Request, response: ApiResponse): Promise<void>;
  /** Lets in or throws. */
  admit(request: Request, response: ApiResponse): Promise<unknown>;
}

/** Gives each endpoint its place. Elsewhere under /v1 the key comes first, then 405 or 404. */
export function mount(app: Express, endpoints: readonly Endpoint[], { serve, admit }: Handlers): void {
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    const here = endpoints.filter((endpoint) => endpoint.path === path);
    const route = app.route(path.replace('{id}', ':id'));
    for (const endpoint of here) {
      route[endpoint.method]((request: Request, response: ApiResponse) => serve(endpoint, request, response));
    }
    const methods = here.map(({ method }) => method.toUpperCase());
    route.all(async (request: Request, response: ApiResponse) => {
      await admit(request, response);
      throw methodNotAllowed(response, methods);
    });
  }
  app.all('/v1{/*rest}', async (request: Request, response: ApiResponse) => {
    await admit(request, response);
    throw new RmsError('not_found');
  });
  // A path that cannot be decoded names nothing; it comes here by its error.
  app.use('/v1', async (error: unknown, request: Request, response: ApiResponse, _next: unknown) => {
    if (!(error instanceof URIError)) throw error;
    await admit(request, response);
    throw new RmsError('not_found');
  });
}

/** A GET without a key, outside /v1. */
export function mountOpen(app: Express, path: string, handle: (response: ApiResponse) => void | Promise<void>): void {
  const route = app.route(path);
  route.get((_request: Request, response: ApiResponse) => handle(response));
  route.all((_request: Request, response: ApiResponse) => {
    throw methodNotAllowed(response, ['GET']);
  });
}

function methodNotAllowed(response: ApiResponse, methods: readonly string[]): RmsError {
  response.setHeader('Allow', methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '));
  return new RmsError('method_not_allowed');
}
