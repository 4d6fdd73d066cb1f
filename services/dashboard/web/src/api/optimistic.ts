import { type QueryKey, type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import { toast } from '../toasts.ts';

interface Options<Data, Input, Result> {
  /** Query to update. All queries with a key that starts with it are reloaded afterwards. */
  readonly queryKey: QueryKey;
  readonly change: (input: Input) => Promise<Result>;
  /** Returns the data to show until the server has responded. */
  readonly apply: (data: Data, input: Input) => Data;
  /** Message shown with the error if the change fails, e.g. "The webhook was not changed." */
  readonly failureMessage: string;
  /** Other queries that show the changed data. */
  readonly alsoReload?: QueryKey;
  readonly onDone?: (result: Result) => void;
}

/**
 * Shows a change before the server has responded. For changes that are easy to undo and rarely fail. If the change
 * fails, the previous data is restored and a message shows the error.
 */
export function useOptimisticChange<Data, Input, Result = unknown>({
  queryKey,
  change,
  apply,
  failureMessage,
  alsoReload = queryKey,
  onDone,
}: Options<Data, Input, Result>): UseMutationResult<Result, Error, Input> {
  const client = useQueryClient();
  return useMutation({
    mutationKey: queryKey,
    mutationFn: change,
    async onMutate(input) {
      // Responses in flight would restore the previous state.
      await client.cancelQueries({ queryKey });
      const before = client.getQueriesData<Data>({ queryKey });
      client.setQueriesData<Data>({ queryKey }, (data) => (data === undefined ? data : apply(data, input)));
      return before;
    },
    onSuccess: (result) => onDone?.(result),
    onError(error, _, before) {
      for (const [key, data] of before ?? []) client.setQueryData(key, data);
      toast(failureMessage, error);
    },
    onSettled() {
      // Only the last of several concurrent changes reloads; earlier reloads would miss the later changes.
      if (client.isMutating({ mutationKey: queryKey }) > 1) return;
      void client.invalidateQueries({ queryKey });
      if (alsoReload !== queryKey) void client.invalidateQueries({ queryKey: alsoReload });
    },
  });
}
