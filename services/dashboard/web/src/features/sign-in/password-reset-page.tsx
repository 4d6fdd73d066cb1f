import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, call, fieldError } from '../../api/client.ts';
import { linkToken } from '../../api/link-token.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { NewPasswordField } from '../account/new-password-field.tsx';

/** Page that the link in a password reset email opens. */
export function PasswordResetPage() {
  const [token] = useState(linkToken);
  const reset = useMutation({
    mutationFn: (password: string) => call('/api/password-reset', { method: 'POST', body: { token, password } }),
  });
  const { error } = reset;
  const isInvalid = error instanceof ApiError && error.status === 404;
  if (token === '' || isInvalid) {
    return (
      <CenteredPage title="This link is invalid">
        <Note tone="warn">It was used already or has expired. Request a new one.</Note>
        <Link to="/forgot-password" className={buttonClass('main')}>
          Request new link
        </Link>
      </CenteredPage>
    );
  }
  if (reset.isSuccess) {
    return (
      <CenteredPage title="Password changed">
        <Note tone="good">All sessions have ended.</Note>
        <Link to="/sign-in" className={buttonClass('main')}>
          Sign in
        </Link>
      </CenteredPage>
    );
  }
  return (
    <CenteredPage title="Choose new password">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          reset.mutate(String(new FormData(event.currentTarget).get('password')));
        }}
      >
        <NewPasswordField label="New password" error={fieldError(error, 'password')} />
        <ErrorNote error={error} fields={['password']} />
        <Button type="submit" variant="main" busy={reset.isPending}>
          Change password
        </Button>
      </form>
    </CenteredPage>
  );
}
