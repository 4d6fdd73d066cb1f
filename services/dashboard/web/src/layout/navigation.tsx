import { may, type Permission } from '@rms/base/roles';
import { Link } from '@tanstack/react-router';
import { useRole, useTenant } from '../api/tenant.ts';
import { Icon, type IconName } from '../ui/icons.tsx';

interface Entry {
  readonly text: string;
  readonly icon: IconName;
  readonly permission: Permission;
  readonly to: string;
}

const home = '/w/$workspace/$environment';

const main = [
  { text: 'Overview', icon: 'overview', permission: 'metrics:read', to: home },
  { text: 'Resources', icon: 'resources', permission: 'resources:read', to: '/w/$workspace/$environment/resources' },
  { text: 'Events', icon: 'events', permission: 'events:read', to: '/w/$workspace/$environment/events' },
  { text: 'Webhooks', icon: 'webhooks', permission: 'webhooks:read', to: '/w/$workspace/$environment/webhooks' },
  {
    text: 'Delivery logs',
    icon: 'deliveries',
    permission: 'deliveries:read',
    to: '/w/$workspace/$environment/deliveries',
  },
  { text: 'Requests', icon: 'requests', permission: 'requests:read', to: '/w/$workspace/$environment/requests' },
] as const satisfies readonly Entry[];

const settings = [
  { text: 'API keys', icon: 'keys', permission: 'keys:read', to: '/w/$workspace/$environment/settings/keys' },
  { text: 'Team', icon: 'team', permission: 'members:read', to: '/w/$workspace/$environment/settings/team' },
  { text: 'Alerts', icon: 'alerts', permission: 'alerts:read', to: '/w/$workspace/$environment/settings/alerts' },
  { text: 'Limits', icon: 'limits', permission: 'workspace:read', to: '/w/$workspace/$environment/settings/limits' },
  { text: 'Audit log', icon: 'audit', permission: 'audit:read', to: '/w/$workspace/$environment/settings/audit' },
] as const satisfies readonly Entry[];

/** Links to the pages that the user's role can access. */
export function Navigation() {
  return (
    <nav aria-label="Pages">
      <Entries of={main} />
      <p className="nav-title">Settings</p>
      <Entries of={settings} />
    </nav>
  );
}

type Shown = (typeof main)[number] | (typeof settings)[number];

function Entries({ of }: { readonly of: readonly Shown[] }) {
  const role = useRole();
  const tenant = useTenant();
  const shown = of.filter(({ permission }) => may(role, permission));
  return (
    <ul className="nav">
      {shown.map(({ text, icon, to }) => (
        <li key={text}>
          <Link to={to} params={tenant} activeOptions={{ exact: to === home, includeSearch: false }}>
            <Icon name={icon} />
            {text}
          </Link>
        </li>
      ))}
    </ul>
  );
}
