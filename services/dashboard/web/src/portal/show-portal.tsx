import { RouterProvider } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PortalDocument } from '../../../src/documents/portal.ts';
import { ApiError } from '../api/client.ts';
import { PortalPermissions } from '../api/tenant.ts';
import { applyTheme, themes } from '../layout/theme.ts';
import { messages } from './messages.ts';
import { PortalNotice } from './portal-pages.tsx';
import { createPortalRouter } from './router.tsx';
import { isEnd, openSession, watchSession } from './session.ts';
import { themeColors } from './theme-colors.ts';

function applyPortalTheme({ mode, primary_color: color }: PortalDocument['theme']): void {
  applyTheme(themes.find((theme) => theme === mode) ?? 'system');
  for (const [name, value] of Object.entries(color === null ? {} : themeColors(color)))
    document.documentElement.style.setProperty(name, value);
}

/** Shows the portal's pages for the link's session, or the reason why it has none. */
export async function showPortal(render: (pages: ReactNode) => void): Promise<void> {
  document.title = messages.webhooks;
  try {
    const session = await openSession();
    applyPortalTheme(session.theme);
    watchSession(() =>
      render(
        <PortalNotice title={messages.endedTitle} returnUrl={session.return_url}>
          <p>{messages.reopen}</p>
        </PortalNotice>,
      ),
    );
    render(
      <PortalPermissions value={session.permissions}>
        {/* Its routes are a part of the dashboard's, which the types of links name. */}
        <RouterProvider router={createPortalRouter(session) as never} />
      </PortalPermissions>,
    );
  } catch (error) {
    const isRefused = error instanceof ApiError && (isEnd(error) || error.status === 404);
    render(
      isRefused ? (
        <PortalNotice title={isEnd(error) ? messages.endedTitle : messages.linkTitle}>
          <p>{messages.reopen}</p>
        </PortalNotice>
      ) : (
        <PortalNotice title={messages.failedTitle} error={error} />
      ),
    );
  }
}
