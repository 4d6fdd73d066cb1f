import { z } from 'zod';
import { accountEndpoint } from './endpoint.ts';

const code = z.string().max(100);
const path = '/api/account/second-factor';

export const getSecondFactor = accountEndpoint({
  access: 'account',
  method: 'get',
  path,
  async handle({ backend, who, context, signal }) {
    const found = await backend.secondFactors.getSecondFactor({ userId: who.user.id }, { context, signal: signal() });
    return { enabled: found.enabled, recovery_codes_left: found.recoveryCodesLeft };
  },
});

/** A secret for an authenticator: `{secret, uri}`. Nothing changes until a code confirms it. */
export const beginSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/begin`,
  body: z.strictObject({ password: z.string().max(1_000) }),
  async handle({ backend, body, who, context }) {
    const { secret, uri } = await backend.secondFactors.beginSecondFactor(
      { userId: who.user.id, password: body.password },
      { context },
    );
    return { secret, uri };
  },
});

export const confirmSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/confirm`,
  body: z.strictObject({ code }),
  async handle({ backend, body, who, context, sessions, request, response }) {
    const answer = await backend.secondFactors.confirmSecondFactor({ userId: who.user.id, ...body }, { context });
    if (!answer.user) throw new Error('auth answered without a user');
    await sessions.begin(request, response, answer.user);
    return { recovery_codes: answer.recoveryCodes };
  },
});

export const renewRecoveryCodes = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/recovery-codes`,
  body: z.strictObject({ code }),
  async handle({ backend, body, who, context }) {
    const answer = await backend.secondFactors.renewRecoveryCodes({ userId: who.user.id, ...body }, { context });
    return { recovery_codes: answer.recoveryCodes };
  },
});

export const removeSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/remove`,
  body: z.strictObject({ code }),
  async handle({ backend, body, who, context, sessions, request, response }) {
    const { user } = await backend.secondFactors.removeSecondFactor({ userId: who.user.id, ...body }, { context });
    if (!user) throw new Error('auth answered without a user');
    await sessions.begin(request, response, user);
    return undefined;
  },
});
