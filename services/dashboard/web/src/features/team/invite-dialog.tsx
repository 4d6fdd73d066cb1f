import type { CreatedInvitation } from '@rms/api';
import { mayChangeRole, type Role, roles } from '@rms/base/roles';
import { fieldError } from '../../api/client.ts';
import { type One, useRole, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Secret } from '../../ui/copy.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Time } from '../../ui/time.tsx';
import { memberCountText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';

const roleHints: Readonly<Record<Role, string>> = {
  viewer: 'view everything except keys and the audit log',
  developer: 'also manage resources, webhooks and keys',
  admin: 'also manage members and alerts, view the audit log',
  owner: 'full access',
};

/** Dialog for inviting a member. Without an SMTP server, it then shows the link. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const role = useRole();
  const { data: limits } = useLimits();
  const invite = useTenantChange<One<CreatedInvitation>>(({ data: { email, token } }) => {
    if (token !== undefined) return;
    onClose();
    toast(`Invitation queued for ${email}.`);
  });
  const choices = roles.filter((to) => mayChangeRole(role, undefined, to));
  const invitation = invite.data?.data;
  if (invitation?.token) return <LinkDialog of={invitation} token={invitation.token} onClose={onClose} />;
  return (
    <Dialog title="Invite member" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const body = { email: String(form.get('email')).trim(), role: String(form.get('role')) };
          invite.mutate({ method: 'POST', path: '/invitations', body });
        }}
      >
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="off"
          hint={memberCountText(limits)}
          error={fieldError(invite.error, 'email')}
          required
        />
        <SelectField
          label="Role"
          name="role"
          defaultValue="developer"
          options={choices.map((choice) => [choice, `${choice}: ${roleHints[choice]}`])}
        />
        <ErrorNote error={invite.error} fields={['email']} />
        <DialogFooter onClose={onClose} busy={invite.isPending}>
          Create invitation
        </DialogFooter>
      </form>
    </Dialog>
  );
}

/** Dialog that shows the link of an invitation, once. */
function LinkDialog({
  of: { email, role, expires_at: expiresAt },
  token,
  onClose,
}: {
  readonly of: CreatedInvitation;
  readonly token: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Invitation link" onClose={onClose} closable={false}>
      <Note tone="warn">
        No email server is configured. Copy the link now and send it to {email}. It is shown only once.
      </Note>
      <Secret text={`${location.origin}/invitation#${token}`} label="Copy link" />
      <p className="small">
        Anyone with the link can join as {role}. It works once, until <Time at={expiresAt} />. To get a new link, invite
        the address again.
      </p>
      <div className="row row-end">
        <Button variant="main" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}
