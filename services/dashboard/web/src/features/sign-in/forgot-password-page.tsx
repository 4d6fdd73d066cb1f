import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';

export function ForgotPasswordPage() {
  const request = useMutation({
    mutationFn: (email: string) => call('/api/password-reset/request', { method: 'POST', body: { email } }),
  });
  return (
    <CenteredPage title="Reset password">
      {request.isSuccess ? (
        <Note tone="good">If an account with this address exists, we sent it a link.</Note>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            request.mutate(String(new FormData(event.currentTarget).get('email')).trim());
          }}
        >
          <TextField label="Email" name="email" type="email" autoComplete="username" required />
          <ErrorNote error={request.error} />
          <Button type="submit" variant="main" busy={request.isPending}>
            Send link
          </Button>
        </form>
      )}
      <p className="small">
        <Link to="/sign-in">Back to sign-in</Link>
      </p>
    </CenteredPage>
  );
}
