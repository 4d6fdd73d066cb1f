import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/client.ts';

/** Query of the available sign-in methods. */
export const signInOptions = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => call<{ oidc: { name: string } | null }>('/api/sign-in/options', { signal }),
});
