import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useAccount } from '../api/account.ts';
import { useTenant } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { AccountLinks } from './account-links.tsx';
import { Brand } from './brand.tsx';
import { EnvironmentSwitch } from './environment-switch.tsx';
import { Navigation } from './navigation.tsx';
import { NotFoundPage } from './not-found-page.tsx';

/** Layout of every page of a workspace. */
export function Shell() {
  const { workspace, environment } = useTenant();
  const membership = useAccount().workspaces.find(({ id }) => id === workspace);
  const { pathname } = useLocation();
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    setOpen(false);
    // Moves the focus, so that screen readers announce the new page.
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  if (!membership) return <NotFoundPage />;
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="topbar">
        <Button
          variant="plain"
          className="button-icon"
          aria-expanded={open}
          aria-label="Menu"
          onClick={() => setOpen(!open)}
        >
          <Icon name="menu" />
        </Button>
        <EnvironmentSwitch />
      </div>
      {open ? <button type="button" className="scrim" aria-label="Close menu" onClick={() => setOpen(false)} /> : null}
      <aside className="side" data-open={open} aria-label={membership.name}>
        <Brand name={membership.name} />
        <EnvironmentSwitch />
        <Navigation />
        <AccountLinks />
      </aside>
      <div className="content">
        {environment === 'sandbox' ? (
          <aside className="sandbox-note" aria-label="Environment">
            Sandbox: test data. Changes here do not affect live.
          </aside>
        ) : null}
        <main className="page" id="main" ref={main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  );
}
