import { type QueryKey, type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import { toast } from '../ui/toasts.tsx';

interface Options<Shown, Given, Answer> {
  /** What is shown of it; whatever begins with this key is read again when it is over. */
  readonly queryKey: QueryKey;
  readonly change: (given: Given) => Promise<Answer>;
  /** What is shown at once, as if it had been done. */
  readonly apply: (shown: Shown, given: Given) => Shown;
  /** "The webhook is as it was": said beside the reason when it is refused. */
  readonly undone: string;
  /** What else shows it. */
  readonly alsoRead?: QueryKey;
  readonly onDone?: (answer: Answer) => void;
}

/**
 * A change that is shown before the server has answered: one that anybody may take back, and that is hardly ever refused.
 * If it is refused, what was shown before is shown again, and a message says why.
 */
export function useOptimisticChange<Shown, Given, Answer = unknown>({
  queryKey,
  change,
  apply,
  undone,
  alsoRead = queryKey,
  onDone,
}: Options<Shown, Given, Answer>): UseMutationResult<Answer, Error, Given> {
  const client = useQueryClient();
  return useMutation({
    mutationKey: queryKey,
    mutationFn: change,
    async onMutate(given) {
      // An answer that is under way would show the state before.
      await client.cancelQueries({ queryKey });
      const before = client.getQueriesData<Shown>({ queryKey });
      client.setQueriesData<Shown>({ queryKey }, (shown) => (shown === undefined ? shown : apply(shown, given)));
      return before;
    },
    onSuccess: (answer) => onDone?.(answer),
    onError(error, _, before) {
      for (const [key, shown] of before ?? []) client.setQueryData(key, shown);
      toast(undone, error);
    },
    onSettled() {
      // Of several at once only the last one reads: the others' answers would show what has not been done yet.
      if (client.isMutating({ mutationKey: queryKey }) > 1) return;
      void client.invalidateQueries({ queryKey });
      if (alsoRead !== queryKey) void client.invalidateQueries({ queryKey: alsoRead });
    },
  });
}
