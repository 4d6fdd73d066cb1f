import { z } from 'zod';
import { ownOrigin } from '../http/origin.ts';
import { accountEndpoint } from './endpoint.ts';

const code = z.string().max(100);
const path = '/api/account/second-factor';

export const getSecondFactor = accountEndpoint({
  access: 'account',
  method: 'get',
  path,
  async handle({ backend, signedIn, context, signal }) {
    const found = await backend.secondFactors.getSecondFactor(
      { userId: signedIn.user.id },
      { context, signal: signal() },
    );
    return { enabled: found.enabled, recovery_codes_remaining: found.recoveryCodesRemaining };
  },
});

/** Adds the dashboard's host to the issuer of an otpauth URI, so that apps can distinguish their entries. */
function namedUri(uri: string, host: string): string {
  const named = new URL(uri);
  const issuer = `${named.searchParams.get('issuer')} (${host.replace(':', ' ')})`;
  // A colon separates the issuer from the account.
  const account = decodeURIComponent(named.pathname).split(':').slice(1).join(':');
  named.pathname = `/${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  named.searchParams.set('issuer', issuer);
  return named.href.replaceAll('+', '%20');
}

/** Returns a new authenticator secret, `{secret, uri}`. It takes effect when a code confirms it. */
export const beginSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/begin`,
  body: z.strictObject({ password: z.string().max(1_000) }),
  async handle({ backend, body, signedIn, context, request, config }) {
    const { secret, uri } = await backend.secondFactors.beginSecondFactor(
      { userId: signedIn.user.id, password: body.password },
      { context },
    );
    return { secret, uri: namedUri(uri, new URL(ownOrigin(request, config)).host) };
  },
});

export const confirmSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/confirm`,
  body: z.strictObject({ code }),
  async handle({ backend, body, signedIn, context, sessions, request, response }) {
    const confirmed = await backend.secondFactors.confirmSecondFactor(
      { userId: signedIn.user.id, ...body },
      { context },
    );
    if (!confirmed.user) throw new Error('auth returned no user');
    await sessions.begin(request, response, confirmed.user);
    return { recovery_codes: confirmed.recoveryCodes };
  },
});

export const renewRecoveryCodes = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/recovery-codes`,
  body: z.strictObject({ code }),
  async handle({ backend, body, signedIn, context }) {
    const response = await backend.secondFactors.renewRecoveryCodes({ userId: signedIn.user.id, ...body }, { context });
    return { recovery_codes: response.recoveryCodes };
  },
});

export const removeSecondFactor = accountEndpoint({
  access: 'account',
  method: 'post',
  path: `${path}/remove`,
  body: z.strictObject({ code }),
  async handle({ backend, body, signedIn, context, sessions, request, response }) {
    const { user } = await backend.secondFactors.removeSecondFactor({ userId: signedIn.user.id, ...body }, { context });
    if (!user) throw new Error('auth returned no user');
    await sessions.begin(request, response, user);
    return undefined;
  },
});
