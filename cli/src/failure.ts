import { RmsError } from '@rms/errors';

/** One line for the person at the terminal. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof RmsError)) return ((error as Error).message ?? String(error)).split('\n')[0] ?? '';
  if (error.code === 'service_unavailable' && error.cause) {
    return 'the service does not answer; is it running, and is DATA_DIR (or AUTH_ADDRESS and the like) right?';
  }
  const details = error.details.map(({ field, message }) => `${field} ${message}`);
  return [error.message, ...details].join(' ');
}
