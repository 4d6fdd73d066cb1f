import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { accountQuery } from '../api/account.ts';
import { ApiError, aboutField, call } from '../api/client.ts';
import { keptLinkToken } from '../api/link-token.ts';
import { queryClient } from '../api/query-client.ts';
import { Narrow } from '../layout/narrow.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Loading, Note } from '../ui/notes.tsx';

interface Found {
  readonly email: string;
  readonly role: string;
  readonly workspace_name: string;
  readonly user_exists: boolean;
}

/** Behind the link of a mail: somebody new chooses a password; who has an account signs in and joins. */
export function InvitationPage() {
  const [token] = useState(() => keptLinkToken('invitation'));
  const navigate = useNavigate();
  const found = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => call<Found>('/api/invitation/find', { method: 'POST', body: { token } }),
    retry: false,
  });
  const account = useQuery({ ...accountQuery, retry: false });
  const join = useMutation({
    mutationFn: ({ path, body }: { path: string; body: object }) =>
      call<{ workspace_id: string }>(path, { method: 'POST', body }),
    async onSuccess({ workspace_id: workspace }) {
      queryClient.clear();
      await navigate({ to: '/w/$workspace/$environment', params: { workspace, environment: 'live' } });
    },
  });

  if (found.isPending || account.isPending) {
    return (
      <Narrow title="Invitation">
        <Loading what="the invitation" />
      </Narrow>
    );
  }
  if (!found.data) {
    return (
      <Narrow title="This invitation does not work">
        <Note tone="warn">It has been used or taken back, or it is too old. Ask for a new one.</Note>
        {found.error instanceof ApiError && found.error.status === 404 ? null : <ErrorNote error={found.error} />}
        <Link to="/sign-in" className={buttonClass()}>
          Sign in
        </Link>
      </Narrow>
    );
  }
  const { workspace_name: workspace, role, email, user_exists: userExists } = found.data;
  const title = `Join ${workspace}`;
  if (account.data) {
    return (
      <Narrow title={title}>
        <p>
          You are invited as {role}. You are signed in as <strong>{account.data.user.email}</strong>.
        </p>
        <ErrorNote error={join.error} />
        <Button
          look="main"
          busy={join.isPending}
          onClick={() => join.mutate({ path: '/api/account/invitation', body: { token } })}
        >
          Join
        </Button>
      </Narrow>
    );
  }
  if (userExists) {
    return (
      <Narrow title={title}>
        <p>
          You are invited as {role}. There is an account for <strong>{email}</strong>: sign in to join.
        </p>
        <Link to="/sign-in" search={{ next: '/invitation' }} className={buttonClass('main')}>
          Sign in
        </Link>
      </Narrow>
    );
  }
  return (
    <Narrow title={title}>
      <p>
        You are invited as {role}, with the address <strong>{email}</strong>.
      </p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const [name, password] = [String(given.get('name')), String(given.get('password'))];
          join.mutate({ path: '/api/invitation/accept', body: { token, name, password } });
        }}
      >
        <TextField label="Your name" name="name" autoComplete="name" maxLength={100} />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          hint="12 characters or more."
          minLength={12}
          wrong={aboutField(join.error, 'password')}
          required
        />
        <ErrorNote error={join.error} fields={['password']} />
        <Button type="submit" look="main" busy={join.isPending}>
          Join
        </Button>
      </form>
    </Narrow>
  );
}
