import type { OpenedPortalDocument, PortalDocument } from '../../../src/documents/portal.ts';
import { ApiError, call, setPortalToken } from '../api/client.ts';
import { linkToken } from '../api/link-token.ts';
import { queryClient } from '../api/query-client.ts';

/**
 * Opens the session of the link in the address, and removes the link from the address. Without a link, continues the
 * session of the page that was reloaded. Throws {@link ApiError} if neither is valid. Call it before a router is created.
 */
export async function openSession(): Promise<PortalDocument> {
  const link = linkToken();
  if (link === '') {
    const { portalToken = '' } = (history.state ?? {}) as { readonly portalToken?: string };
    keepToken(portalToken);
    return call<PortalDocument>('/api/portal');
  }
  history.replaceState(null, '', location.pathname);
  const session = await call<OpenedPortalDocument>('/api/portal/open', { method: 'POST', body: { token: link } });
  keepToken(session.token);
  return session;
}

/**
 * Adds the token to the calls, and to the state of every history entry, which a reload keeps. Other sites cannot read
 * it, and unlike storage, browsers do not block it in a frame of another site.
 */
function keepToken(portalToken: string): void {
  setPortalToken(portalToken);
  for (const name of ['pushState', 'replaceState'] as const) {
    const change = history[name].bind(history);
    history[name] = (state, unused, url) => change({ ...state, portalToken }, unused, url);
  }
  history.replaceState(history.state, '');
}

/** Calls `onEnd` when the server refuses a call because the session is over. */
export function watchSession(onEnd: () => void): void {
  const check = ({ type, action }: { readonly type: string; readonly action?: { readonly type: string } }) => {
    if (type !== 'updated' || action?.type !== 'error' || !('error' in action)) return;
    if (isEnd(action.error)) onEnd();
  };
  queryClient.getQueryCache().subscribe(check);
  queryClient.getMutationCache().subscribe(check);
}

/** Whether an error says that the session is over. */
export function isEnd(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'portal_session_ended';
}
