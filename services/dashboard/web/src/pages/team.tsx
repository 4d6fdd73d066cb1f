import { mayChangeRole, type Role, roles } from '@rms/roles';
import { useState } from 'react';
import type { InvitationDocument, MemberDocument } from '../../../src/documents/team.ts';
import { useAccount } from '../api/account.ts';
import { aboutField } from '../api/client.ts';
import { useMay, useRole, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

const roleHints: Readonly<Record<Role, string>> = {
  viewer: 'sees everything but keys and the audit log',
  developer: 'also resources, webhooks and keys',
  admin: 'also people, alerts and the audit log',
  owner: 'everything',
};

export function TeamPage() {
  const { user } = useAccount();
  const role = useRole();
  const mayWrite = useMay('members.write');
  const { data, error } = useTenantQuery<{ data: readonly MemberDocument[] }>('/members');
  const [inviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<MemberDocument>();
  const change = useTenantChange(() => toast('The role is changed.'));
  const remove = useTenantChange(() => {
    setLeaving(undefined);
    toast('Removed.');
  });
  const mayRemove = (member: MemberDocument) =>
    member.user_id === user.id || mayChangeRole(role, member.role, undefined);
  return (
    <>
      <PageHead
        title="Team"
        lead="People of this workspace; their roles hold in live and sandbox."
        actions={
          mayWrite ? (
            <Button look="main" onClick={() => setInviting(true)}>
              Invite
            </Button>
          ) : null
        }
      />
      <ErrorNote error={error ?? change.error} />
      <Card title="Members" flush>
        {data ? (
          <Table
            label="Members"
            rows={data.data}
            keyOf={(member) => member.user_id}
            columns={[
              {
                title: 'Person',
                cell: (member) => (
                  <span className="break">
                    <strong>{member.name || member.email}</strong>
                    {member.name ? <span className="soft"> {member.email}</span> : null}{' '}
                    {member.user_id === user.id ? <Badge>You</Badge> : null}
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
                      change.mutate({ method: 'PATCH', path: `/members/${member.user_id}`, body: { role: next } })
                    }
                  />
                ),
              },
              { title: 'Second factor', cell: (member) => (member.has_second_factor ? 'On' : 'Off') },
              { title: 'Last sign-in', cell: (member) => <Time at={member.last_sign_in_at} /> },
              {
                title: '',
                cell: (member) =>
                  mayRemove(member) ? (
                    <Button
                      small
                      aria-label={member.user_id === user.id ? 'Leave' : `Remove ${member.email}`}
                      onClick={() => setLeaving(member)}
                    >
                      {member.user_id === user.id ? 'Leave' : 'Remove'}
                    </Button>
                  ) : null,
              },
            ]}
          />
        ) : (
          <Loading what="members" rows={4} />
        )}
      </Card>
      {mayWrite ? <Invitations /> : null}
      {inviting ? <InviteDialog onClose={() => setInviting(false)} /> : null}
      {leaving ? (
        <Confirm
          title={leaving.user_id === user.id ? 'Leave this workspace?' : `Remove ${leaving.email}?`}
          action={leaving.user_id === user.id ? 'Leave' : 'Remove'}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setLeaving(undefined)}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/members/${leaving.user_id}` })}
        >
          <p>From the next click on, the pages of this workspace are closed. Keys that were made stay as they are.</p>
        </Confirm>
      ) : null}
    </>
  );
}

function RoleChoice({
  of: member,
  role,
  onChange,
}: {
  readonly of: MemberDocument;
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
  const { data, error } = useTenantQuery<{ data: readonly InvitationDocument[] }>('/invitations');
  const revoke = useTenantChange(() => toast('The invitation is taken back.'));
  if (!error && !data?.data.length) return null;
  return (
    <Card title="Invitations" about="Links that wait to be followed." flush>
      <ErrorNote error={error ?? revoke.error} />
      <Table
        label="Invitations"
        rows={data?.data ?? []}
        keyOf={({ id }) => id}
        columns={[
          { title: 'E-mail', cell: (invitation) => <span className="break">{invitation.email}</span> },
          { title: 'Role', cell: (invitation) => invitation.role },
          { title: 'Sent', cell: (invitation) => <Time at={invitation.created_at} /> },
          { title: 'Ends', cell: (invitation) => <Time at={invitation.expires_at} /> },
          {
            title: '',
            cell: (invitation) => (
              <Button
                small
                aria-label={`Take back the invitation of ${invitation.email}`}
                onClick={() => revoke.mutate({ method: 'DELETE', path: `/invitations/${invitation.id}` })}
              >
                Take back
              </Button>
            ),
          },
        ]}
      />
    </Card>
  );
}

function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const role = useRole();
  const invite = useTenantChange<InvitationDocument>(({ email }) => {
    onClose();
    toast(`A link is on its way to ${email}.`);
  });
  const choices = roles.filter((to) => mayChangeRole(role, undefined, to));
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const body = { email: String(given.get('email')).trim(), role: String(given.get('role')) };
          invite.mutate({ method: 'POST', path: '/invitations', body });
        }}
      >
        <TextField
          label="E-mail"
          name="email"
          type="email"
          autoComplete="off"
          wrong={aboutField(invite.error, 'email')}
          required
        />
        <SelectField
          label="Role"
          name="role"
          defaultValue="developer"
          options={choices.map((choice) => [choice, `${choice}: ${roleHints[choice]}`])}
        />
        <ErrorNote error={invite.error} fields={['email']} />
        <DialogFoot onClose={onClose} busy={invite.isPending}>
          Send invitation
        </DialogFoot>
      </form>
    </Dialog>
  );
}
