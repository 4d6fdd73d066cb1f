import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { linkToken } from '../api/link-token.ts';
import { queryClient } from '../api/query-client.ts';
import { Narrow } from '../layout/narrow.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';

/** Behind the link of a mail. Mail programs open links by themselves: a person has to press the button. */
export function EmailChangePage() {
  const [token] = useState(linkToken);
  const confirm = useMutation({
    mutationFn: () => call<{ email: string }>('/api/email-change', { method: 'POST', body: { token } }),
    // All sessions have ended, the one of this browser among them.
    onSuccess: () => queryClient.clear(),
  });
  const { error } = confirm;
  if (token === '' || (error instanceof ApiError && error.status === 404)) {
    return (
      <Narrow title="This link does not work">
        <Note tone="warn">It has been used, or it is too old. Ask for a new one in your account.</Note>
        <Link to="/account" className={buttonClass('main')}>
          Your account
        </Link>
      </Narrow>
    );
  }
  if (confirm.data) {
    return (
      <Narrow title="Your e-mail address is changed">
        <Note tone="good">Sign in with {confirm.data.email} from now on. All sessions have ended.</Note>
        <Link to="/sign-in" className={buttonClass('main')}>
          Sign in
        </Link>
      </Narrow>
    );
  }
  return (
    <Narrow title="Confirm your e-mail address">
      <p>You will sign in with this address from now on, and get the mails of your account there.</p>
      <ErrorNote error={error} />
      <Button look="main" busy={confirm.isPending} onClick={() => confirm.mutate()}>
        Confirm
      </Button>
    </Narrow>
  );
}
