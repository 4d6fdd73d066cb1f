import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { AccountDocument } from '../../../src/documents/account.ts';
import { call, setCsrfToken } from './client.ts';

export const accountQuery = queryOptions({
  queryKey: ['account'],
  async queryFn({ signal }) {
    const account = await call<AccountDocument>('/api/account', { signal });
    setCsrfToken(account.csrf_token);
    return account;
  },
  staleTime: 60_000,
});

/** Who is signed in; for pages that are shown to nobody else. */
export function useAccount(): AccountDocument {
  return useSuspenseQuery(accountQuery).data;
}
