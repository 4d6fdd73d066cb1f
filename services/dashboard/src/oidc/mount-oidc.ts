import type { Logger } from '@rms/logging';
import type { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { Express, Request } from 'express';
import { z } from 'zod';
import type { Sessions } from '../checks/sessions.ts';
import type { DashboardConfig } from '../config.ts';
import { readCookie, setCookie } from '../http/cookies.ts';
import type { PageResponse } from '../http/locals.ts';
import { isSecure, ownOrigin } from '../http/own-origin.ts';
import { settleSignIn } from '../routes/sign-in.ts';
import type { Provider } from './provider.ts';

interface Parts {
  readonly config: DashboardConfig;
  readonly provider: Provider;
  readonly signIn: Pick<RpcClient<typeof SignInService>, 'verifyIdentity'>;
  readonly sessions: Sessions;
  readonly log: Logger;
}

/** Cookie with the visit data while the browser is at the provider. Only this browser can complete the sign-in. */
const cookie = 'rms_oidc';
const visitSeconds = 600;
const startPath = '/api/oidc/start';
const callbackPath = '/api/oidc/callback';
const visitForm = z.strictObject({ state: z.string(), nonce: z.string(), codeVerifier: z.string(), next: z.string() });

/**
 * Mounts the two routes for signing in with an OpenID Connect provider:
 *
 *   /api/oidc/start ──► provider ──► /api/oidc/callback ──► requested page
 *                                         └─ failed ──► /sign-in?failed=<request ID>
 */
export function mountOidc(app: Express, { config, provider, signIn, sessions, log }: Parts): void {
  const remember = (request: Request, response: PageResponse, value: string, maxAgeSeconds: number) => {
    const secure = isSecure(request, config);
    // Lax, because another site redirects to the callback.
    response.append('Set-Cookie', setCookie(cookie, value, { secure, maxAgeSeconds, sameSite: 'Lax' }));
  };

  app.get(startPath, async (request: Request, response: PageResponse) => {
    const { url, visit } = await provider.begin(ownOrigin(request, config) + callbackPath);
    const next = ownPath(new URL(request.url, 'http://own').searchParams.get('next'));
    remember(request, response, Buffer.from(JSON.stringify({ ...visit, next })).toString('base64url'), visitSeconds);
    response.redirect(302, url.href);
  });

  app.get(callbackPath, async (request: Request, response: PageResponse) => {
    const text = readCookie(request, cookie, isSecure(request, config)) ?? '';
    const { requestId } = response.locals;
    try {
      const { next, ...visit } = visitForm.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
      const identity = await provider.finish(new URL(request.url, ownOrigin(request, config)), visit);
      const context = { requestId, clientAddress: response.locals.client().address };
      const { result } = await signIn.verifyIdentity(identity, { context });
      const { step } = await settleSignIn({ sessions, request, response }, result, 'sign_in_refused');
      remember(request, response, '', 0);
      response.redirect(302, step === 'done' ? ownPath(next) : '/sign-in?step=second_factor');
    } catch (err) {
      log.warn({ err, request_id: requestId }, 'OpenID Connect sign-in failed');
      remember(request, response, '', 0);
      response.redirect(302, `/sign-in?failed=${encodeURIComponent(requestId)}`);
    }
  });
}

/** Returns `next` if it is a path of this site; otherwise "/". */
function ownPath(next: string | null): string {
  if (!next?.startsWith('/') || !URL.canParse(next, 'http://own')) return '/';
  const { host, pathname, search } = new URL(next, 'http://own');
  // The path of "/.//elsewhere" is "//elsewhere", which browsers treat as another host.
  return host === 'own' && !pathname.startsWith('//') ? pathname + search : '/';
}
