import { RmsError } from '@rms/base/errors';

/** Returns a one-line, human-readable reason for a failed start. */
export function startFailure(error: unknown): string {
  const { code, port } = error as { code?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `port ${port} is in use; stop the program that listens on it, or choose another port`;
  if (code === 'EACCES' && port !== undefined)
    return `this user may not listen on port ${port}; choose a port from 1024`;
  if (code === 'EAFNOSUPPORT')
    return 'the kernel has no IPv6, so nothing can listen on "::"; set HOST, GRPC_HOST and METRICS_ADDRESS to 0.0.0.0';
  return messageOf(error).split('\n')[0] ?? '';
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Its own message is for callers of the API.
  if (error instanceof RmsError && error.cause instanceof Error) return messageOf(error.cause);
  // A connection attempt to several addresses fails with one error per address and an empty message.
  if (error.message === '' && error instanceof AggregateError) return messageOf(error.errors[0]);
  return error.message || error.name;
}
