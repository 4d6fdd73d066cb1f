import { SignInOutcome, type SignInResult } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { z } from 'zod';
import { Refusal } from '../http/refusal.ts';
import { type OpenCall, openEndpoint } from './endpoint.ts';

const maxPasswordLength = 1_000;

/** First step of signing in: email and password. Returns `{step: "done"}` or `{step: "second_factor"}`. */
export const signInRoute = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/sign-in',
  body: z.strictObject({ email: z.string().max(254), password: z.string().max(maxPasswordLength) }),
  async handle(call) {
    const { result } = await call.backend.signIn.verifyPassword(call.body, { context: call.context });
    return settleSignIn(call, result, 'sign_in_refused');
  },
});

/** Returns the available sign-in methods. */
export const signInOptions = openEndpoint({
  access: 'open',
  method: 'get',
  path: '/api/sign-in/options',
  handle: async ({ config: { oidc } }) => ({ oidc: oidc ? { name: oidc.name } : null }),
});

/** Second step of signing in, if the first one requires it. */
export const secondFactorRoute = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/sign-in/second-factor',
  body: z.strictObject({ code: z.string().max(100) }),
  async handle(call) {
    const { challenge } = await call.sessions.requireHalf(call.request);
    const { context, body } = call;
    const { result, recoveryCodesRemaining } = await call.backend.signIn.verifySecondFactor(
      { challenge, code: body.code },
      { context },
    );
    const response = await settleSignIn(call, result, 'code_refused');
    return recoveryCodesRemaining === undefined
      ? response
      : { ...response, recovery_codes_remaining: recoveryCodesRemaining };
  },
});

/** Starts the session that results from a sign-in step. Throws a refusal if the step failed. */
export async function settleSignIn(
  { sessions, request, response }: Pick<OpenCall<unknown, unknown>, 'sessions' | 'request' | 'response'>,
  result: SignInResult | undefined,
  refusal: 'sign_in_refused' | 'code_refused',
  idToken?: string,
): Promise<{ step: 'done' | 'second_factor' }> {
  if (result?.outcome === SignInOutcome.SECOND_FACTOR_REQUIRED) {
    await sessions.beginHalf(request, response, result, idToken);
    return { step: 'second_factor' };
  }
  if (result?.outcome !== SignInOutcome.SIGNED_IN || !result.user) throw new Refusal(refusal);
  await sessions.begin(request, response, result.user, idToken);
  return { step: 'done' };
}
