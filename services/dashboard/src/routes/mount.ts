import { methodNotAllowed, routeNotFound } from '@rms/net/http';
import type { Express, Request } from 'express';
import type { PageResponse } from '../http/locals.ts';
import { type Endpoint, pathOf } from './endpoint.ts';

type Serve = (endpoint: Endpoint, request: Request, response: PageResponse) => Promise<void>;

/** Mounts each endpoint. Other paths under /api are 404. */
export function mount(app: Express, endpoints: readonly Endpoint[], serve: Serve): void {
  const paths = new Set(endpoints.map(pathOf));
  for (const path of paths) {
    const here = endpoints.filter((endpoint) => pathOf(endpoint) === path);
    const route = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const endpoint of here) {
      route[endpoint.method]((request: Request, response: PageResponse) => serve(endpoint, request, response));
    }
    const methods = here.map(({ method }) => method.toUpperCase());
    route.all((request: Request, response: PageResponse) => {
      throw methodNotAllowed(request, response, methods);
    });
  }
  app.all('/api{/*rest}', (request: Request) => {
    throw routeNotFound(request);
  });
  // A path with invalid percent-encoding is 404.
  app.use((error: unknown, request: Request, _response: PageResponse, next: (thrown: unknown) => void) => {
    next(error instanceof URIError ? routeNotFound(request) : error);
  });
}
