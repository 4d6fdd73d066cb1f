import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { call } from './client.ts';
import { queryClient } from './query-client.ts';

export interface AccountChange {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** Changes something of one's own. The session may go on under another token: the account is read again. */
export function useAccountChange<T = unknown>(
  onDone?: (answer: T) => void,
): UseMutationResult<T, Error, AccountChange> {
  return useMutation({
    mutationFn: ({ method = 'POST', path, body }: AccountChange) => call<T>(`/api/account${path}`, { method, body }),
    async onSuccess(answer) {
      await queryClient.invalidateQueries({ queryKey: ['account'] });
      onDone?.(answer);
    },
  });
}
