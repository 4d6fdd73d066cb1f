import type { Member } from '@rms/api';
import { mayChangeRole, type Role, roles } from '@rms/base/roles';
import { useState } from 'react';
import { useAccount } from '../../api/account.ts';
import { useMay, useRole, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { WaitingEmails } from '../alerts/waiting-emails.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { useInvitations, useMembers } from './member-queries.ts';
import { RemoveMemberDialog } from './remove-member-dialog.tsx';

export function TeamPage() {
  const { user } = useAccount();
  const role = useRole();
  const mayWrite = useMay('members:write');
  const { data, error } = useMembers();
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member>();
  const change = useTenantChange(() => toast('Role changed.'));
  const mayRemove = (member: Member) => member.id === user.id || mayChangeRole(role, member.role, undefined);
  return (
    <>
      <PageHeader
        title="Team"
        lead="Members of this workspace. Roles apply to live and sandbox."
        actions={
          mayWrite ? (
            <Button variant="main" onClick={() => setInviting(true)}>
              Invite member
            </Button>
          ) : null
        }
      />
      <ErrorNote error={error ?? change.error} />
      <WaitingEmails />
      <Card title="Members" flush>
        {data ? (
          <Table
            label="Members"
            rows={data.data}
            keyOf={(member) => member.id}
            columns={[
              {
                title: 'Member',
                cell: (member) => (
                  <span className="break">
                    <strong>{member.name || member.email}</strong>
                    {member.name ? <span className="soft"> {member.email}</span> : null}{' '}
                    {member.id === user.id ? <Badge>You</Badge> : null}
                    {member.disabled ? <Badge tone="warn">Disabled</Badge> : null}
                  </span>
                ),
              },
              {
                title: 'Role',
                cell: (member) => (
                  <RoleChoice
                    of={member}
                    role={role}
                    onChange={(next) =>
                      change.mutate({ method: 'PATCH', path: `/members/${member.id}`, body: { role: next } })
                    }
                  />
                ),
              },
              {
                title: 'Two-factor authentication',
                cell: (member) => (member.has_second_factor ? 'Enabled' : 'Disabled'),
              },
              { title: 'Last sign-in', cell: (member) => <Time at={member.last_sign_in_at} /> },
              {
                title: '',
                cell: (member) =>
                  mayRemove(member) ? (
                    <Button
                      small
                      aria-label={member.id === user.id ? 'Leave' : `Remove ${member.email}`}
                      onClick={() => setRemoving(member)}
                    >
                      {member.id === user.id ? 'Leave' : 'Remove'}
                    </Button>
                  ) : null,
              },
            ]}
          />
        ) : (
          <Loading label="Loading members" rows={4} />
        )}
      </Card>
      {mayWrite ? <Invitations /> : null}
      {inviting ? <InviteDialog onClose={() => setInviting(false)} /> : null}
      {removing ? (
        <RemoveMemberDialog member={removing} isSelf={removing.id === user.id} onClose={() => setRemoving(undefined)} />
      ) : null}
    </>
  );
}

function RoleChoice({
  of: member,
  role,
  onChange,
}: {
  readonly of: Member;
  readonly role: Role | undefined;
  readonly onChange: (role: Role) => void;
}) {
  const choices = roles.filter((to) => to === member.role || mayChangeRole(role, member.role, to));
  if (choices.length < 2) return <>{member.role}</>;
  return (
    <select
      className="input"
      aria-label={`Role of ${member.email}`}
      value={member.role}
      onChange={(event) => onChange(event.target.value as Role)}
    >
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}

function Invitations() {
  const { data, error } = useInvitations();
  const revoke = useTenantChange(() => toast('Invitation revoked.'));
  if (!error && !data?.data.length) return null;
  return (
    <Card title="Invitations" about="Invitations that have not been accepted yet." flush>
      <ErrorNote error={error ?? revoke.error} />
      <Table
        label="Invitations"
        rows={data?.data ?? []}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Email', cell: (invitation) => <span className="break">{invitation.email}</span> },
          { title: 'Role', cell: (invitation) => invitation.role },
          { title: 'Created', cell: (invitation) => <Time at={invitation.created_at} /> },
          { title: 'Expires', cell: (invitation) => <Time at={invitation.expires_at} /> },
          {
            title: '',
            cell: (invitation) => (
              <Button
                small
                aria-label={`Revoke invitation of ${invitation.email}`}
                onClick={() => revoke.mutate({ method: 'DELETE', path: `/invitations/${invitation.id}` })}
              >
                Revoke
              </Button>
            ),
          },
        ]}
      />
    </Card>
  );
}
