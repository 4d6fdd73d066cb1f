import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

const staleMs = 5_000;
const maxRetries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      // Retries only errors that can be temporary. Rejections are final.
      retry: (count, error) => count < maxRetries && error instanceof ApiError && error.status >= 502,
    },
  },
});
