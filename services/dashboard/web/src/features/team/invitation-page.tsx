import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { accountQuery } from '../../api/account.ts';
import { ApiError, call, fieldError } from '../../api/client.ts';
import { storeLinkToken } from '../../api/link-token.ts';
import { queryClient } from '../../api/query-client.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';
import { NewPasswordField } from '../account/new-password-field.tsx';
import { signInOptions } from '../sign-in/sign-in-options.ts';

interface FoundInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly workspace_name: string;
  readonly user_exists: boolean;
}

/** Page that an invitation link opens. New users choose a password; existing users sign in and join. */
export function InvitationPage() {
  const [token] = useState(() => storeLinkToken('invitation'));
  const navigate = useNavigate();
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => call<FoundInvitation>('/api/invitation/find', { method: 'POST', body: { token } }),
    retry: false,
  });
  const account = useQuery({ ...accountQuery, retry: false });
  const options = useQuery(signInOptions);
  const join = useMutation({
    mutationFn: ({ path, body }: { path: string; body: object }) =>
      call<{ workspace_id: string }>(path, { method: 'POST', body }),
    async onSuccess({ workspace_id: workspace }) {
      queryClient.clear();
      await navigate({ to: '/w/$workspace/$environment', params: { workspace, environment: 'live' } });
    },
  });

  if (invitation.isPending || account.isPending) {
    return (
      <CenteredPage title="Invitation">
        <Loading label="Loading the invitation" />
      </CenteredPage>
    );
  }
  if (!invitation.data) {
    return (
      <CenteredPage title="This invitation is invalid">
        <Note tone="warn">It was accepted or revoked, or it has expired. Ask for a new one.</Note>
        {invitation.error instanceof ApiError && invitation.error.status === 404 ? null : (
          <ErrorNote error={invitation.error} />
        )}
        <Link to="/sign-in" className={buttonClass()}>
          Sign in
        </Link>
      </CenteredPage>
    );
  }
  const { id, workspace_name: workspace, role, email, user_exists: userExists } = invitation.data;
  const title = `Join ${workspace}`;
  if (account.data) {
    return (
      <CenteredPage title={title}>
        <p>
          You are invited as {role}. You are signed in as <strong>{account.data.user.email}</strong>.
        </p>
        <ErrorNote error={join.error} />
        <Button
          variant="main"
          busy={join.isPending}
          onClick={() => join.mutate({ path: '/api/account/invitation', body: { token } })}
        >
          Join
        </Button>
      </CenteredPage>
    );
  }
  if (userExists) {
    return (
      <CenteredPage title={title}>
        <p>
          You are invited as {role}. Sign in as <strong>{email}</strong> to join.
        </p>
        <Link to="/sign-in" search={{ next: '/invitation' }} className={buttonClass('main')}>
          Sign in
        </Link>
      </CenteredPage>
    );
  }
  return (
    <CenteredPage title={title}>
      <p>
        You are invited as {role}. Your account will use the address <strong>{email}</strong>.
      </p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const [name, password] = [String(form.get('name')), String(form.get('password'))];
          join.mutate({ path: '/api/invitation/accept', body: { token, name, password } });
        }}
      >
        <TextField label="Name" name="name" autoComplete="name" maxLength={100} />
        <NewPasswordField label="Password" error={fieldError(join.error, 'password')} />
        <ErrorNote error={join.error} fields={['password']} />
        <Button type="submit" variant="main" busy={join.isPending}>
          Join
        </Button>
        {options.data?.oidc ? (
          <a
            className={buttonClass()}
            href={`/api/oidc/start?${new URLSearchParams({ next: '/invitation', invitation: id })}`}
          >
            Join with {options.data.oidc.name}
          </a>
        ) : null}
      </form>
    </CenteredPage>
  );
}
