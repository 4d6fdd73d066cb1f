import { errorKinds, RmsError } from '@rms/errors';
import { startFailure } from '@rms/service';

/** One line for the person at the terminal. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof RmsError)) return startFailure(error);
  // A service that has more to say about it says it; without that mostly nothing listens at the address.
  if (error.code === 'service_unavailable' && error.message === errorKinds.service_unavailable.message) {
    return 'the service does not answer; is it running, and is DATA_DIR (or AUTH_ADDRESS and the like) right?';
  }
  const details = error.details.map(({ field, message }) => `${field} ${message}`);
  return [error.message, details.join('; ')].join(' ').trim();
}
