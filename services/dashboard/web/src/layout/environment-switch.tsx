import { Link, useLocation } from '@tanstack/react-router';
import { type Tenant, useTenant } from '../api/tenant.ts';

const names = { live: 'Live', sandbox: 'Sandbox' } as const;

/** Switches to the same page of the other environment. */
export function EnvironmentSwitch() {
  const tenant = useTenant();
  const { pathname } = useLocation();
  return (
    <nav className="environment" aria-label="Environment">
      {(['live', 'sandbox'] as const).map((environment) => (
        <Link
          key={environment}
          to={samePage(pathname, tenant, environment)}
          data-environment={environment}
          data-current={environment === tenant.environment}
        >
          {names[environment]}
        </Link>
      ))}
    </nav>
  );
}

/**
 * Removes IDs from the path, because they belong to one environment: "/w/ws_1/live/webhooks/wh_1" →
 * "/w/ws_1/sandbox/webhooks".
 */
function samePage(pathname: string, { workspace }: Tenant, environment: string): string {
  const [, , , , ...rest] = pathname.split('/');
  const section = rest[0] === 'settings' ? rest.slice(0, 2) : rest.slice(0, 1);
  return ['', 'w', workspace, environment, ...section].join('/');
}
