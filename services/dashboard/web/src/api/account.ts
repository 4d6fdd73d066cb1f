import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { AccountDocument } from '../../../src/documents/account.ts';
import { call, checkSameUser, setSession } from './client.ts';

export const accountQuery = queryOptions({
  queryKey: ['account'],
  async queryFn({ signal, client, queryKey }) {
    const account = await call<AccountDocument>('/api/account', { signal });
    // Without data: the first load, or the user has signed in or out in this tab.
    const shown = client.getQueryData<AccountDocument>(queryKey);
    if (shown) checkSameUser(shown, account);
    setSession(account);
    return account;
  },
  staleTime: 60_000,
});

/** Returns the account. For pages that require a signed-in user. */
export function useAccount(): AccountDocument {
  return useSuspenseQuery(accountQuery).data;
}
