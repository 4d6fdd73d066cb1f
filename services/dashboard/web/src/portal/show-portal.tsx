import { RouterProvider } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PortalDocument } from '../../../src/documents/portal.ts';
import { ApiError } from '../api/client.ts';
import { PortalPermissions } from '../api/tenant.ts';
import { applyTheme, themes } from '../layout/theme.ts';
import { chooseLanguage } from '../texts/choose-language.ts';
import { pageLanguage } from '../texts/numbers.ts';
import { portalTexts } from '../texts/portal.ts';
import { uiTexts } from '../texts/ui.ts';
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
  await chooseLanguage();
  const texts = portalTexts();
  document.documentElement.lang = pageLanguage();
  document.title = uiTexts().webhooks;
  try {
    const session = await openSession();
    applyPortalTheme(session.theme);
    watchSession(() =>
      render(
        <PortalNotice title={texts.endedTitle} returnUrl={session.return_url}>
          <p>{texts.reopen}</p>
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
        <PortalNotice title={isEnd(error) ? texts.endedTitle : texts.linkTitle}>
          <p>{texts.reopen}</p>
        </PortalNotice>
      ) : (
        <PortalNotice title={uiTexts().pageFailed} error={error} />
      ),
    );
  }
}
