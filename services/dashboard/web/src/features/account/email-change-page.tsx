import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import { linkToken } from '../../api/link-token.ts';
import { queryClient } from '../../api/query-client.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';

/** Page that confirms a new email address. Requires a click, because email scanners open links automatically. */
export function EmailChangePage() {
  const [token] = useState(linkToken);
  const confirm = useMutation({
    mutationFn: () => call<{ email: string }>('/api/email-change', { method: 'POST', body: { token } }),
    // The change ended all sessions, including this browser's session.
    onSuccess: () => queryClient.clear(),
  });
  const { error } = confirm;
  if (token === '' || (error instanceof ApiError && error.status === 404)) {
    return (
      <CenteredPage title="This link is invalid">
        <Note tone="warn">It was used already or has expired. Request a new one on the account page.</Note>
        <Link to="/account" className={buttonClass('main')}>
          Go to account
        </Link>
      </CenteredPage>
    );
  }
  if (confirm.data) {
    return (
      <CenteredPage title="Email address changed">
        <Note tone="good">Sign in with {confirm.data.email}. All sessions have ended.</Note>
        <Link to="/sign-in" className={buttonClass('main')}>
          Sign in
        </Link>
      </CenteredPage>
    );
  }
  return (
    <CenteredPage title="Confirm email address">
      <p>You will sign in with this address and receive account emails there.</p>
      <ErrorNote error={error} />
      <Button variant="main" busy={confirm.isPending} onClick={() => confirm.mutate()}>
        Confirm
      </Button>
    </CenteredPage>
  );
}
