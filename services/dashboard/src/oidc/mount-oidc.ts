import { RmsError } from '@rms/base/errors';
import { shownText } from '@rms/net/http';
import type { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Express, Request } from 'express';
import { AuthorizationResponseError } from 'openid-client';
import type { Sessions } from '../checks/sessions.ts';
import type { DashboardConfig, OidcConfig } from '../config.ts';
import type { PageResponse } from '../http/locals.ts';
import { cookieScope, ownOrigin, readCookie, setCookie } from '../http/origin.ts';
import { Refusal } from '../http/refusal.ts';
import type { SignOutOfProvider } from '../routes/endpoint.ts';
import { settleSignIn } from '../routes/sign-in.ts';
import { isClientRefused } from './client-authentication.ts';
import { type FailureReason, failureTexts } from './failure.ts';
import { type Claims, identityOf } from './identity.ts';
import { maxShownLength, type Provider } from './provider.ts';
import {
  type Browser,
  complete,
  formatBrowser,
  newBrowser,
  newVisit,
  openState,
  parseBrowser,
  stateOf,
} from './visit.ts';

interface Parts {
  readonly config: DashboardConfig;
  readonly oidc: OidcConfig;
  readonly provider: Provider;
  readonly signIn: Pick<RpcClient<typeof SignInService>, 'verifyIdentity'>;
  readonly sessions: Sessions;
  readonly log: Logger;
}

/** Cookie with the browser's key. Only this browser can complete its visits. */
const cookie = 'rms_oidc';
/** Long enough for a user who takes a break at the provider. */
const browserSeconds = 12 * 3_600;
const startPath = '/api/oidc/start';
const callbackPath = '/api/oidc/callback';
const maxNextLength = 500;
const invitationForm = /^inv_\w{1,60}$/;
/** Cookie of a browser after a user has signed out: the next sign-in asks to choose an account. */
const chooseCookie = 'rms_oidc_choose';
const chooseSeconds = 30 * 24 * 3_600;

/** Failed sign-in with a known reason. */
class OidcFailure extends Error {
  override readonly name = 'OidcFailure';
  readonly reason: FailureReason;

  constructor(reason: FailureReason) {
    super(failureTexts[reason]);
    this.reason = reason;
  }
}

/**
 * Mounts the two routes for signing in with an OpenID Connect provider:
 *
 *   /api/oidc/start ──► provider ──► /api/oidc/callback ──► requested page
 *          └────────── failed ─────────────┴──► /sign-in?failed=<request ID>&reason=<reason>
 *
 * Returns the function that signs out.
 */
export function mountOidc(app: Express, { config, oidc, provider, signIn, sessions, log }: Parts): SignOutOfProvider {
  const read = (request: Request) => parseBrowser(readCookie(request, cookie, cookieScope(request, config)));
  const remember = (request: Request, response: PageResponse, browser: Browser) => {
    // Lax, because another site redirects to the callback.
    const options = { ...cookieScope(request, config), maxAgeSeconds: browserSeconds, sameSite: 'Lax' } as const;
    response.append('Set-Cookie', setCookie(cookie, formatBrowser(browser), options));
  };
  /** @param isChosen whether the next sign-in asks to choose an account */
  const setChoice = (request: Request, response: PageResponse, isChosen: boolean) => {
    const options = { ...cookieScope(request, config), maxAgeSeconds: isChosen ? chooseSeconds : 0 };
    response.append('Set-Cookie', setCookie(chooseCookie, isChosen ? '1' : '', options));
  };
  const choosesAccount = (request: Request) =>
    readCookie(request, chooseCookie, cookieScope(request, config)) !== undefined;
  const fail = (response: PageResponse, err: unknown, next: string, claims?: Claims) => {
    const { requestId } = response.locals;
    const reason = reasonOf(err);
    log.warn(
      {
        reason,
        request_id: requestId,
        issuer: oidc.issuer,
        // Names only: the values are personal data.
        ...(claims ? { claims: Object.keys(claims), email_claim: oidc.emailClaim } : {}),
        ...(err instanceof OidcFailure ? {} : { err }),
        ...(err instanceof AuthorizationResponseError ? responseOf(err) : {}),
      },
      `OpenID Connect sign-in failed: ${failureTexts[reason]}`,
    );
    response.redirect(302, `/sign-in?${new URLSearchParams({ failed: requestId, reason, next })}`);
  };

  app.get(startPath, async (request: Request, response: PageResponse) => {
    const { searchParams } = new URL(request.url, 'http://own');
    const next = ownPath(searchParams.get('next'));
    const [invitation = ''] = invitationForm.exec(searchParams.get('invitation') ?? '') ?? [];
    const browser = read(request) ?? newBrowser();
    const visit = newVisit({ ...provider.newChecks(), next, invitation });
    try {
      const state = stateOf(browser, visit);
      const redirectUri = ownOrigin(request, config) + callbackPath;
      const url = await provider.begin({ ...visit, state, redirectUri, choosesAccount: choosesAccount(request) });
      remember(request, response, browser);
      response.redirect(302, url.href);
    } catch (err) {
      fail(response, err, next);
    }
  });

  app.get(callbackPath, async (request: Request, response: PageResponse) => {
    const url = new URL(request.url, ownOrigin(request, config));
    const state = url.searchParams.get('state') ?? '';
    const browser = read(request);
    const visit = browser && openState(browser, state);
    if (!browser || !visit) return fail(response, new OidcFailure('expired'), '/');
    const next = ownPath(visit.next);
    // The page was reloaded, or the user went back to it. The provider accepts its code only once.
    if (browser.completed.includes(visit.id)) return response.redirect(302, next);
    let claims: Claims | undefined;
    try {
      const finished = await provider.finish(url, { ...visit, state });
      claims = finished.claims;
      const { missing, ...identity } = identityOf(claims, oidc);
      const context = { requestId: response.locals.requestId, clientAddress: response.locals.client().address };
      const chosen = visit.invitation ? { invitationId: visit.invitation } : {};
      const { result, workspaceId } = await signIn.verifyIdentity({ ...identity, ...chosen }, { context });
      const call = { sessions, request, response };
      const settled = await settleSignIn(call, result, 'sign_in_refused', finished.idToken).catch((err) => {
        throw err instanceof Refusal ? new OidcFailure(missing ?? 'no_account') : err;
      });
      remember(request, response, complete(browser, visit));
      if (choosesAccount(request)) setChoice(request, response, false);
      if (workspaceId) return response.redirect(302, `/w/${workspaceId}/live`);
      const secondFactor = `/sign-in?${new URLSearchParams({ step: 'second_factor', next })}`;
      response.redirect(302, settled.step === 'done' ? next : secondFactor);
    } catch (err) {
      fail(response, err, next, claims);
    }
  });

  return async (request, response, { idToken }) => {
    const returnTo = `${ownOrigin(request, config)}/sign-in`;
    const url = oidc.endsSession && idToken ? await provider.endSession({ idToken, returnTo }) : undefined;
    if (!url) setChoice(request, response, true);
    return url;
  };
}

function reasonOf(err: unknown): FailureReason {
  if (err instanceof OidcFailure) return err.reason;
  if (err instanceof AuthorizationResponseError) return 'denied';
  if (isClientRefused(err)) return 'client_refused';
  if (err instanceof RmsError && err.code === 'conflict') return 'workspace_full';
  if (err instanceof RmsError && err.kind.httpStatus === 429) return 'too_many_attempts';
  return err instanceof RmsError && err.kind.retryable ? 'unavailable' : 'failed';
}

/** Returns the error that the provider put into the callback URL. */
function responseOf({ error, error_description: description = '' }: AuthorizationResponseError) {
  return { error: shownText(error, maxShownLength), error_description: shownText(description, maxShownLength) };
}

/** Returns `next` if it is a path of this site; otherwise "/". */
function ownPath(next: string | null): string {
  if (!next?.startsWith('/') || next.length > maxNextLength || !URL.canParse(next, 'http://own')) return '/';
  const { host, pathname, search } = new URL(next, 'http://own');
  // The path of "/.//elsewhere" is "//elsewhere", which browsers treat as another host.
  return host === 'own' && !pathname.startsWith('//') ? pathname + search : '/';
}
