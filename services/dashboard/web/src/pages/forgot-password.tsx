import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../api/client.ts';
import { Narrow } from '../layout/narrow.tsx';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';

export function ForgotPasswordPage() {
  const request = useMutation({
    mutationFn: (email: string) => call('/api/password-reset/request', { method: 'POST', body: { email } }),
  });
  return (
    <Narrow title="Reset your password">
      {request.isSuccess ? (
        <Note tone="good">If there is an account with this address, a link is on its way to it.</Note>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            request.mutate(String(new FormData(event.currentTarget).get('email')).trim());
          }}
        >
          <TextField label="E-mail" name="email" type="email" autoComplete="username" required />
          <ErrorNote error={request.error} />
          <Button type="submit" look="main" busy={request.isPending}>
            Send a link
          </Button>
        </form>
      )}
      <p className="small">
        <Link to="/sign-in">Back to signing in</Link>
      </p>
    </Narrow>
  );
}
