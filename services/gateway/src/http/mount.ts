import type { Endpoint } from '@rms/api';
import { methodNotAllowed, routeNotFound } from '@rms/net/http';
import type { Express, Request } from 'express';
import type { ApiResponse } from './locals.ts';

export interface Handlers {
  serve(endpoint: Endpoint, request: Request, response: ApiResponse): Promise<void>;
  /** Throws if the request is refused. */
  admit(request: Request, response: ApiResponse): Promise<unknown>;
}

/** Registers all endpoints. For other requests under /v1, authentication comes before the 404 or 405 response. */
export function mount(app: Express, endpoints: readonly Endpoint[], { serve, admit }: Handlers): void {
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    const here = endpoints.filter((endpoint) => endpoint.path === path);
    const route = app.route(path.replace(/\{(\w+)\}/, ':$1'));
    for (const endpoint of here) {
      route[endpoint.method]((request: Request, response: ApiResponse) => serve(endpoint, request, response));
    }
    const methods = here.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    route.all(async (request: Request, response: ApiResponse) => {
      await admit(request, response);
      throw methodNotAllowed(request, response, methods);
    });
  }
  app.all('/v1{/*rest}', async (request: Request, response: ApiResponse) => {
    await admit(request, response);
    throw routeNotFound(request);
  });
  // Express passes requests with an undecodable path to the error handler. They get 404.
  app.use('/v1', async (error: unknown, request: Request, response: ApiResponse, _next: unknown) => {
    if (!(error instanceof URIError)) throw error;
    await admit(request, response);
    throw routeNotFound(request);
  });
}

/** Registers a GET route without authentication, outside /v1. */
export function mountOpen(app: Express, path: string, handle: (response: ApiResponse) => void | Promise<void>): void {
  const route = app.route(path);
  route.get((_request: Request, response: ApiResponse) => handle(response));
  route.all((request: Request, response: ApiResponse) => {
    throw methodNotAllowed(request, response, ['GET', 'HEAD']);
  });
}
