import { useRef } from 'react';
import { useAccount } from '../../api/account.ts';
import { fieldError } from '../../api/client.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { useAccountChange } from './account-change.ts';
import { NewPasswordField } from './new-password-field.tsx';

export function PasswordCard() {
  const { user } = useAccount();
  const form = useRef<HTMLFormElement>(null);
  const change = useAccountChange(() => {
    form.current?.reset();
    toast('Password changed. All other sessions have ended.');
  });
  return (
    <Card title="Password" about="Changing the password ends all other sessions.">
      <form
        ref={form}
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? '');
          change.mutate({
            path: '/password',
            body: { current_password: text('current_password'), password: text('password') },
          });
        }}
      >
        <input type="hidden" autoComplete="username" value={user.email} readOnly />
        <div className="form-grid">
          {user.has_password ? (
            <TextField
              label="Current password"
              name="current_password"
              type="password"
              autoComplete="current-password"
              error={fieldError(change.error, 'current_password')}
              required
            />
          ) : null}
          <NewPasswordField label="New password" error={fieldError(change.error, 'password')} />
        </div>
        <ErrorNote error={change.error} fields={['password', 'current_password']} />
        <div className="row">
          <Button type="submit" busy={change.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  );
}
