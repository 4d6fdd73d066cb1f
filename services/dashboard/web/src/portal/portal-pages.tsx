import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import type { PortalDocument } from '../../../src/documents/portal.ts';
import { useMay, useTenant } from '../api/tenant.ts';
import { portalTexts } from '../texts/portal.ts';
import { uiTexts } from '../texts/ui.ts';
import { buttonClass } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { Empty, ErrorNote } from '../ui/notes.tsx';

/** Layout of every page of the portal. */
export function PortalShell({ of: session }: { readonly of: PortalDocument }) {
  const texts = portalTexts();
  const tenant = useTenant();
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const before = useRef(pathname);
  const mayReadDeliveries = useMay('deliveries:read');
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    // Moves the focus, so that screen readers announce the new page.
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  const { logo_url: logo } = session.theme;
  return (
    <div className="content">
      <a className="skip" href="#main">
        {texts.skip}
      </a>
      <header className="portal-head">
        {logo === null ? null : <img src={logo} alt="" className="portal-logo" />}
        <nav aria-label={texts.pages}>
          <ul className="nav">
            <li>
              <Link to="/w/$workspace/$environment/webhooks" params={tenant}>
                <Icon name="webhooks" />
                {uiTexts().webhooks}
              </Link>
            </li>
            {mayReadDeliveries ? (
              <li>
                <Link
                  to="/w/$workspace/$environment/deliveries"
                  params={tenant}
                  activeOptions={{ includeSearch: false }}
                >
                  <Icon name="deliveries" />
                  {uiTexts().deliveries}
                </Link>
              </li>
            ) : null}
          </ul>
        </nav>
        <BackLink to={session.return_url} />
      </header>
      {session.environment === 'sandbox' ? <aside className="sandbox-note">{texts.sandbox}</aside> : null}
      <main className="page" id="main" ref={main} tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

export function PortalNotFound() {
  const texts = portalTexts();
  return (
    <Empty
      icon="requests"
      isPage
      title={texts.notFoundTitle}
      action={
        <Link to="/" className={buttonClass('main')}>
          {texts.toWebhooks}
        </Link>
      }
    >
      {texts.notFound}
    </Empty>
  );
}

/** Page without a session: the link does not work, or the session is over. */
export function PortalNotice({
  title,
  returnUrl = null,
  error,
  children,
}: {
  readonly title: string;
  readonly returnUrl?: string | null;
  readonly error?: unknown;
  readonly children?: ReactNode;
}) {
  return (
    <main className="narrow">
      <div className="card stack">
        <h1>{title}</h1>
        <ErrorNote error={error} />
        {children}
        <BackLink to={returnUrl} />
      </div>
    </main>
  );
}

/** Link out of the frame. */
function BackLink({ to }: { readonly to: string | null }) {
  if (to === null) return null;
  return (
    <a href={to} target="_top" rel="noreferrer" className={buttonClass()}>
      {portalTexts().back(new URL(to).host)}
    </a>
  );
}
