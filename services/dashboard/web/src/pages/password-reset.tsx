import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, aboutField, call } from '../api/client.ts';
import { linkToken } from '../api/link-token.ts';
import { Narrow } from '../layout/narrow.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';

/** Behind the link of a mail. */
export function PasswordResetPage() {
  const [token] = useState(linkToken);
  const reset = useMutation({
    mutationFn: (password: string) => call('/api/password-reset', { method: 'POST', body: { token, password } }),
  });
  const { error } = reset;
  const isGone = error instanceof ApiError && error.status === 404;
  if (token === '' || isGone) {
    return (
      <Narrow title="This link does not work">
        <Note tone="warn">It has been used, or it is too old. Ask for a new one.</Note>
        <Link to="/forgot-password" className={buttonClass('main')}>
          Send another link
        </Link>
      </Narrow>
    );
  }
  if (reset.isSuccess) {
    return (
      <Narrow title="Your password is changed">
        <Note tone="good">All sessions have ended.</Note>
        <Link to="/sign-in" className={buttonClass('main')}>
          Sign in
        </Link>
      </Narrow>
    );
  }
  return (
    <Narrow title="Choose a new password">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          reset.mutate(String(new FormData(event.currentTarget).get('password')));
        }}
      >
        <TextField
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          hint="12 characters or more."
          minLength={12}
          wrong={aboutField(error, 'password')}
          required
        />
        <ErrorNote error={error} fields={['password']} />
        <Button type="submit" look="main" busy={reset.isPending}>
          Change password
        </Button>
      </form>
    </Narrow>
  );
}
