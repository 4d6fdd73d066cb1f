import type { OpenedPortalDocument, PortalDocument } from '../../../src/documents/portal.ts';
import { ApiError, call, setPortalToken } from '../api/client.ts';
import { linkToken } from '../api/link-token.ts';
import { queryClient } from '../api/query-client.ts';
import { tabStorage } from '../browser/storage.ts';

/** Session of this tab, for reloads. Browsers keep the storage of a frame apart for each site of the top-level page. */
const stored = 'rms-portal';

/**
 * Opens the session of the link in the address, or continues the session of this tab, and removes the link from the
 * address. Throws {@link ApiError} if neither is valid.
 */
export async function openSession(): Promise<PortalDocument> {
  const link = linkToken();
  if (link !== '') history.replaceState(null, '', location.pathname);
  const [token = '', openedBy = ''] = (tabStorage.get(stored) ?? '').split(' ');
  // A page that frames the portal reloads with the link that opened the session.
  if (link === '' || link === openedBy) {
    setPortalToken(token);
    return call<PortalDocument>('/api/portal');
  }
  const session = await call<OpenedPortalDocument>('/api/portal/open', { method: 'POST', body: { token: link } });
  setPortalToken(session.token);
  tabStorage.set(stored, `${session.token} ${link}`);
  return session;
}

/** Calls `onEnd` when the server refuses a call because the session has ended. */
export function watchSession(onEnd: () => void): void {
  const check = ({ type, action }: { readonly type: string; readonly action?: { readonly type: string } }) => {
    if (type !== 'updated' || action?.type !== 'error' || !('error' in action)) return;
    if (isEnd(action.error)) onEnd();
  };
  queryClient.getQueryCache().subscribe(check);
  queryClient.getMutationCache().subscribe(check);
}

/** Whether an error says that the session has ended. */
export function isEnd(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'portal_session_ended';
}
