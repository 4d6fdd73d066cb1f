import { Link, useNavigate } from '@tanstack/react-router';
import { useAccount } from '../api/account.ts';
import { call } from '../api/client.ts';
import { queryClient } from '../api/query-client.ts';
import { useTenant } from '../api/tenant.ts';
import { toast } from '../toasts.ts';
import { SelectField } from '../ui/field.tsx';
import { Icon } from '../ui/icons.tsx';

/** Workspace switch, link to the account page, and sign-out link. */
export function AccountLinks() {
  const account = useAccount();
  const { workspace, environment } = useTenant();
  const navigate = useNavigate();
  const signOut = async () => {
    const atProvider = await call<{ url: string } | undefined>('/api/account/sign-out', { method: 'POST' });
    queryClient.clear();
    if (atProvider) location.assign(atProvider.url);
    else await navigate({ to: '/sign-in' });
  };
  return (
    <div className="side-end">
      {account.workspaces.length > 1 ? (
        <SelectField
          label="Workspace"
          value={workspace}
          options={account.workspaces.map(({ id, name }) => [id, name])}
          onChange={(event) =>
            void navigate({ to: '/w/$workspace/$environment', params: { workspace: event.target.value, environment } })
          }
        />
      ) : null}
      <ul className="nav">
        <li>
          <Link to="/account">
            <Icon name="account" />
            <span className="break">{account.user.name || account.user.email}</span>
          </Link>
        </li>
        <li>
          <a
            href="/sign-in"
            onClick={(event) => {
              event.preventDefault();
              signOut().catch((error: unknown) => toast('You are still signed in.', error));
            }}
          >
            <Icon name="out" />
            Sign out
          </a>
        </li>
      </ul>
    </div>
  );
}
