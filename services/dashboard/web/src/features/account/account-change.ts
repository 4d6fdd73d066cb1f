import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { queryClient } from '../../api/query-client.ts';

export interface AccountChange {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** Changes the signed-in user's account, then reloads it, because the session may have a new CSRF token. */
export function useAccountChange<T = unknown>(
  onDone?: (result: T) => void,
): UseMutationResult<T, Error, AccountChange> {
  return useMutation({
    mutationFn: ({ method = 'POST', path, body }: AccountChange) => call<T>(`/api/account${path}`, { method, body }),
    async onSuccess(result) {
      await queryClient.invalidateQueries({ queryKey: ['account'] });
      onDone?.(result);
    },
  });
}
