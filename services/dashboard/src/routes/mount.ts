import { RmsError } from '@rms/errors';
import type { Express, Request } from 'express';
import type { PageResponse } from '../http/locals.ts';
import { type Endpoint, pathOf } from './endpoint.ts';

type Serve = (endpoint: Endpoint, request: Request, response: PageResponse) => Promise<void>;

/** Gives each endpoint its place; elsewhere under /api there is nothing. */
export function mount(app: Express, endpoints: readonly Endpoint[], serve: Serve): void {
  const paths = new Set(endpoints.map(pathOf));
  for (const path of paths) {
    const here = endpoints.filter((endpoint) => pathOf(endpoint) === path);
    const route = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const endpoint of here) {
      route[endpoint.method]((request: Request, response: PageResponse) => serve(endpoint, request, response));
    }
    route.all((_request: Request, response: PageResponse) => {
      response.setHeader('Allow', here.map(({ method }) => method.toUpperCase()).join(', '));
      throw new RmsError('method_not_allowed');
    });
  }
  app.all('/api{/*rest}', () => {
    throw new RmsError('not_found');
  });
  // A path that cannot be decoded names nothing.
  app.use((error: unknown, _request: Request, _response: PageResponse, next: (thrown: unknown) => void) => {
    next(error instanceof URIError ? new RmsError('not_found') : error);
  });
}
