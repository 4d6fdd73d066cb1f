import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay, useTenant } from '../../api/tenant.ts';

/** Filters of the page of requests, with the names and values of the URL's search parameters. */
export type RequestFilter = Partial<
  Record<'status' | 'method' | 'route' | 'error' | 'key' | 'user' | 'ip' | 'since' | 'until', string>
>;

/** Link from a figure to the requests that it counts. Only the text for a user who may not read them. */
export function RequestsLink({ of, children }: { readonly of: RequestFilter; readonly children: ReactNode }) {
  const tenant = useTenant();
  if (!useMay('requests:read')) return children;
  return (
    <Link to="/w/$workspace/$environment/requests" params={tenant} search={{ ...of }} className="small">
      {children}
    </Link>
  );
}
