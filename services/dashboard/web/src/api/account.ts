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

/** Returns the account. For pages that require a signed-in user. */
export function useAccount(): AccountDocument {
  return useSuspenseQuery(accountQuery).data;
}
