import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

const staleMs = 5_000;
const mostRetries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      // What was refused stays refused; what was not there for a moment may be there now.
      retry: (count, error) => count < mostRetries && error instanceof ApiError && error.status >= 502,
    },
  },
});
