import { errorKinds, RmsError } from '@rms/base/errors';
import { startFailure } from '@rms/runtime/service/start-failure';

/** Describes an error in one line for the terminal. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof RmsError)) return startFailure(error);
  // The default message usually means that nothing listens at the address. Services send other messages.
  if (error.code === 'service_unavailable' && error.message === errorKinds.service_unavailable.message) {
    return 'The service is unreachable. Check that it is running and that DATA_DIR (or AUTH_ADDRESS, WEBHOOKS_ADDRESS) is correct.';
  }
  if (error.code === 'internal_error' && error.message === errorKinds.internal_error.message) {
    return 'An internal error occurred. The log of the service names the cause.';
  }
  return withDetails(error.message, error.details);
}

/** Adds the violations of fields to a message, in one line. */
export function withDetails(
  message: string,
  details: readonly { readonly field?: string; readonly message?: string }[],
): string {
  const texts = details.map(({ field = '', message: text = '' }) => `${field} ${text}`);
  return texts.length === 0 ? message : `${message.replace(/\.$/, '')}: ${texts.join('; ')}.`;
}
