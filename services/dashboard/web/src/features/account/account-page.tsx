import { Link } from '@tanstack/react-router';
import { useAccount } from '../../api/account.ts';
import { Brand } from '../../layout/brand.tsx';
import { setTheme, type Theme, themes, useTheme } from '../../layout/theme.ts';
import { SelectField } from '../../ui/field.tsx';
import { Note } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { DeleteAccountCard } from './delete-account-card.tsx';
import { IdentitiesCard } from './identities-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { ProfileCard } from './profile-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';
import { SessionsCard } from './sessions-card.tsx';

const themeTexts: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' };

/** Page of the user's account, outside any workspace. */
export function AccountPage() {
  const { user, workspaces } = useAccount();
  const theme = useTheme();
  return (
    <main className="page" id="main">
      <Link to="/" className="row">
        <Brand name="Back to dashboard" />
      </Link>
      <PageHeader title="Your account" lead={user.email} />
      {workspaces.length === 0 ? (
        <Note tone="warn">You are not a member of any workspace. Ask an owner or admin to invite you.</Note>
      ) : null}
      <Card title="Workspaces">
        <DescriptionList
          of={workspaces.map(({ id, name, role }) => [role, <WorkspaceLink key={id} id={id} name={name} />])}
        />
      </Card>
      <ProfileCard key={user.name} />
      <Card title="Appearance">
        <div className="form-grid">
          <SelectField
            label="Theme"
            value={theme}
            options={themes.map((name) => [name, themeTexts[name]])}
            onChange={(event) => setTheme(event.target.value as Theme)}
          />
        </div>
      </Card>
      <PasswordCard />
      <SecondFactorCard />
      <IdentitiesCard />
      <SessionsCard />
      <DeleteAccountCard />
    </main>
  );
}

function WorkspaceLink({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <Link to="/w/$workspace/$environment" params={{ workspace: id, environment: 'live' }}>
      {name}
    </Link>
  );
}
