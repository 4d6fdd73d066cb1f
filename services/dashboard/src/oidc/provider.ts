import { withTimeout } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import { shownText } from '@rms/net/http';
import type { Logger } from '@rms/runtime/logging';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  type ServerMetadata,
} from 'openid-client';
import type { OidcConfig } from '../config.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { type Claims, lacksEmail, mergeClaims } from './identity.ts';
import { createProviderFetch } from './provider-fetch.ts';
import type { Visit } from './visit.ts';

/** Values that the callback must match. */
export type Checks = Pick<Visit, 'nonce' | 'codeVerifier'>;

/** OpenID Connect provider: authorization code flow with PKCE, state and nonce. */
export interface Provider {
  newChecks(): Checks;
  /** Returns the URL to redirect to. Throws `service_unavailable` if the provider is unreachable. */
  begin(
    visit: Checks & {
      readonly redirectUri: string;
      readonly state: string;
      /** Whether the user must choose an account, even if one is signed in at the provider. */
      readonly choosesAccount: boolean;
    },
  ): Promise<URL>;
  /**
   * Returns the ID token, and its claims and, if they lack the email address or its verification, UserInfo's claims.
   * Rejects unless the callback URL matches the visit and the ID token is valid.
   */
  finish(callbackUrl: URL, visit: Checks & { readonly state: string }): Promise<Finished>;
  /** Returns the URL that ends the session at the provider; undefined if the provider offers none or is unreachable. */
  endSession(end: { readonly idToken: string; readonly returnTo: string }): Promise<URL | undefined>;
}

/** A sign-in that the provider has completed. */
export interface Finished {
  readonly claims: Claims;
  readonly idToken: string;
}

/** Limits each request to the provider. */
const timeoutSeconds = 10;
/** Limits a sign-in's end, which takes up to five requests. */
const finishTimeoutMs = 20_000;
const clockToleranceSeconds = 60;
/** Maximum length of a provider's shown texts. */
export const maxShownLength = 200;
const scope = 'openid email';

/** Age of the provider's metadata when they are read again: its endpoints may move. */
const metadataMaxAgeMs = 3_600_000;

export function createProvider(config: OidcConfig, log: Logger, nowMs = () => performance.now()): Provider {
  const { issuer, clientId, clientSecret } = config;
  let known: { readonly configuration: Configuration; readonly atMs: number } | undefined;
  let discovering: Promise<Configuration> | undefined;
  const fetchFromProvider = createProviderFetch(() => config.ca?.(log), config.proxyFor(log));
  const isLocal = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/.test(issuer);
  const { authenticate, exchange } = createClientAuthentication(() => clientSecret(log));
  const client = { [clockTolerance]: clockToleranceSeconds };
  // Also verifies the ID token's signature. Plain HTTP is allowed only on loopback, for development.
  const extensions = [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])];
  /** Returns the configuration without signing keys from an earlier sign-in, because the provider may replace them. */
  const withoutKeys = (known: Configuration): Configuration => {
    const configuration = new Configuration(known.serverMetadata(), clientId, client, authenticate);
    configuration.timeout = timeoutSeconds;
    configuration[customFetch] = fetchFromProvider;
    for (const extend of extensions) extend(configuration);
    return configuration;
  };
  const read = async () => {
    const configuration = await discovery(new URL(issuer), clientId, client, authenticate, {
      timeout: timeoutSeconds,
      [customFetch]: fetchFromProvider,
      execute: extensions,
    }).catch((error: unknown) => {
      throw otherIssuer(error, issuer) ?? error;
    });
    known = { configuration, atMs: nowMs() };
    return configuration;
  };
  /** Returns the metadata; the previous ones if newer ones cannot be read. */
  const discover = async (): Promise<Configuration> => {
    if (known && nowMs() - known.atMs < metadataMaxAgeMs) return known.configuration;
    discovering ??= read().finally(() => {
      discovering = undefined;
    });
    try {
      return await discovering;
    } catch (cause) {
      if (!known) throw new RmsError('service_unavailable', { cause });
      log.warn(
        { err: cause, issuer },
        'cannot read the metadata of the OpenID Connect provider; keeping the previous ones',
      );
      return known.configuration;
    }
  };
  const finish: Provider['finish'] = async (callbackUrl, { state, nonce, codeVerifier }) => {
    const configuration = withoutKeys(await discover());
    const checks = {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    const tokens = await exchange(configuration.serverMetadata(), () =>
      authorizationCodeGrant(configuration, callbackUrl, checks),
    );
    const claims = tokens.claims();
    const { id_token: idToken } = tokens;
    if (!claims || idToken === undefined) throw new Error('the provider returned no ID token');
    if (!lacksEmail(claims, config) || !configuration.serverMetadata().userinfo_endpoint) return { claims, idToken };
    try {
      // Rejects claims of another subject.
      const userInfo = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { claims: mergeClaims(claims, userInfo), idToken };
    } catch (err) {
      // A linked identity signs in without an email address.
      log.warn({ err, issuer }, 'could not read UserInfo of the OpenID Connect provider');
      return { claims, idToken };
    }
  };
  return {
    newChecks: () => ({ nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() }),
    async begin({ redirectUri, state, nonce, codeVerifier, choosesAccount }) {
      const configuration = await discover();
      return buildAuthorizationUrl(configuration, {
        ...(choosesAccount ? { prompt: promptOf(configuration.serverMetadata()) } : {}),
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },
    finish: (callbackUrl, visit) =>
      withTimeout(finish(callbackUrl, visit), finishTimeoutMs, 'the OpenID Connect provider'),
    async endSession({ idToken, returnTo }) {
      try {
        const configuration = await discover();
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
        return buildEndSessionUrl(configuration, { id_token_hint: idToken, post_logout_redirect_uri: returnTo });
      } catch (err) {
        log.warn({ err, issuer }, 'cannot end the session at the OpenID Connect provider');
        return undefined;
      }
    },
  };
}

/** Returns the `prompt` that makes the user choose an account; `login` if the provider supports only that. */
function promptOf({ prompt_values_supported: supported }: ServerMetadata): string {
  const values = Array.isArray(supported) ? supported : [];
  return !values.includes('select_account') && values.includes('login') ? 'login' : 'select_account';
}

/** Returns an error that names both issuers if the metadata have another one than OIDC_ISSUER. */
function otherIssuer(error: unknown, expected: string): Error | undefined {
  const { cause } = (error ?? {}) as { cause?: { attribute?: string; body?: { issuer?: unknown } } };
  if (cause?.attribute !== 'issuer') return undefined;
  const actual = shownText(String(cause.body?.issuer), maxShownLength);
  return new Error(`OIDC_ISSUER is "${expected}", but the provider names itself "${actual}"`, { cause: error });
}
