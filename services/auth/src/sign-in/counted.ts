import { RmsError } from '@rms/errors';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { AuthMetrics, SignInCount } from '../metrics.ts';

const counts: Readonly<Partial<Record<SignInOutcome, SignInCount>>> = {
  [SignInOutcome.SIGNED_IN]: 'signed_in',
  [SignInOutcome.REFUSED]: 'refused',
  [SignInOutcome.SECOND_FACTOR_REQUIRED]: 'second_factor_required',
};

/** Counts what a step of a sign-in comes to; what fails by itself is none. */
export async function counted<T extends { readonly result: { readonly outcome: SignInOutcome } }>(
  metrics: Pick<AuthMetrics, 'countSignIn'>,
  step: () => Promise<T>,
): Promise<T> {
  try {
    const answer = await step();
    const count = counts[answer.result.outcome];
    if (count) metrics.countSignIn(count);
    return answer;
  } catch (error) {
    if (error instanceof RmsError && error.code === 'rate_limit_exceeded') metrics.countSignIn('throttled');
    throw error;
  }
}
