import { RmsError } from '@rms/errors';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcConfig } from '../config.ts';

/** Values that the callback must match. They are stored in the browser that started the sign-in. */
export interface Visit {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Verified identity from the provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** OpenID Connect provider: authorization code flow with PKCE, state and nonce. */
export interface Provider {
  /** Returns the URL to redirect to. Throws `service_unavailable` if the provider is unreachable. */
  begin(redirectUri: string): Promise<{ url: URL; visit: Visit }>;
  /** Returns the identity. Rejects unless the callback URL matches the visit and the ID token is valid. */
  finish(callbackUrl: URL, visit: Visit): Promise<Identity>;
}

const timeoutSeconds = 10;
const scope = 'openid email';

export function createProvider({ issuer, clientId, clientSecret }: OidcConfig): Provider {
  let discovering: Promise<Configuration> | undefined;
  const isLocal = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/.test(issuer);
  const discover = () => {
    discovering ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: timeoutSeconds,
      // Also verifies the ID token's signature. Plain HTTP is allowed only on loopback, for development.
      execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    }).catch((cause: unknown) => {
      // The next call retries discovery.
      discovering = undefined;
      throw new RmsError('service_unavailable', { cause });
    });
    return discovering;
  };
  return {
    async begin(redirectUri) {
      const configuration = await discover();
      const visit = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        state: visit.state,
        nonce: visit.nonce,
        code_challenge: await calculatePKCECodeChallenge(visit.codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url, visit };
    },
    async finish(callbackUrl, { state, nonce, codeVerifier }) {
      const tokens = await authorizationCodeGrant(await discover(), callbackUrl, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('the provider returned no ID token');
      const { iss, sub, email, email_verified: emailVerified } = claims;
      return {
        issuer: iss,
        subject: sub,
        email: typeof email === 'string' ? email : '',
        emailVerified: emailVerified === true,
      };
    },
  };
}
