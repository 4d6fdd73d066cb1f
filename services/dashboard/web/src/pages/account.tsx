import { Link } from '@tanstack/react-router';
import { useAccount } from '../api/account.ts';
import { Brand } from '../layout/brand.tsx';
import { chooseTheme, type Theme, themes, useTheme } from '../layout/theme.ts';
import { SelectField } from '../ui/field.tsx';
import { Note } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { DeleteAccountCard } from './account-delete.tsx';
import { PasswordCard } from './account-password.tsx';
import { ProfileCard } from './account-profile.tsx';
import { SecondFactorCard } from './account-second-factor.tsx';
import { SessionsCard } from './account-sessions.tsx';

const themeTexts: Readonly<Record<Theme, string>> = { system: 'As the system', light: 'Light', dark: 'Dark' };

/** What is one's own, in no workspace. */
export function AccountPage() {
  const { user, workspaces } = useAccount();
  const theme = useTheme();
  return (
    <main className="page" id="main">
      <Link to="/" className="row">
        <Brand name="Back to the pages" />
      </Link>
      <PageHead title="Your account" lead={user.email} />
      {workspaces.length === 0 ? <Note tone="warn">You are in no workspace. Ask somebody to invite you.</Note> : null}
      <Card title="Workspaces">
        <Facts of={workspaces.map(({ id, name, role }) => [role, <WorkspaceLink key={id} id={id} name={name} />])} />
      </Card>
      <ProfileCard key={user.name} />
      <Card title="Appearance">
        <div className="form-grid">
          <SelectField
            label="Theme"
            value={theme}
            options={themes.map((name) => [name, themeTexts[name]])}
            onChange={(event) => chooseTheme(event.target.value as Theme)}
          />
        </div>
      </Card>
      <PasswordCard />
      <SecondFactorCard />
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
