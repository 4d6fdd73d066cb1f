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

/** What one visit to the provider has to match; stays with the browser that began it. */
export interface Visit {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Whom the provider has told us about, verified. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** An OpenID Connect provider: authorization code with PKCE, state and nonce. */
export interface Provider {
  /** Where to send the browser. Throws `service_unavailable` while the provider cannot be asked. */
  begin(redirectUri: string): Promise<{ url: URL; visit: Visit }>;
  /** Rejects unless the address that the browser came back to fits the visit, and the ID token is right. */
  finish(cameBackTo: URL, visit: Visit): Promise<Identity>;
}

const timeoutSeconds = 10;
const scope = 'openid email';

export function createProvider({ issuer, clientId, clientSecret }: OidcConfig): Provider {
  let discovering: Promise<Configuration> | undefined;
  const isLocal = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/.test(issuer);
  const discover = () => {
    discovering ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: timeoutSeconds,
      // The ID token's signature is checked, too. Without TLS only on this machine: for development.
      execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    }).catch((cause: unknown) => {
      // It is asked anew the next time.
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
    async finish(cameBackTo, { state, nonce, codeVerifier }) {
      const tokens = await authorizationCodeGrant(await discover(), cameBackTo, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('the provider answered without an ID token');
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
