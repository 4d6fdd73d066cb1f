import { RmsError } from '@rms/base/errors';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { AuthMetrics, SignInCount } from '../metrics.ts';

const counts: Readonly<Partial<Record<SignInOutcome, SignInCount>>> = {
  [SignInOutcome.SIGNED_IN]: 'signed_in',
  [SignInOutcome.REFUSED]: 'refused',
  [SignInOutcome.SECOND_FACTOR_REQUIRED]: 'second_factor_required',
};

/** Counts a sign-in step's outcome. Errors other than throttling are not counted. */
export async function counted<T extends { readonly result: { readonly outcome: SignInOutcome } }>(
  metrics: Pick<AuthMetrics, 'countSignIn'>,
  step: () => Promise<T>,
): Promise<T> {
  try {
    const response = await step();
    const count = counts[response.result.outcome];
    if (count) metrics.countSignIn(count);
    return response;
  } catch (error) {
    if (error instanceof RmsError && error.code === 'rate_limit_exceeded') metrics.countSignIn('throttled');
    throw error;
  }
}
