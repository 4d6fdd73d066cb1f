import { useRef } from 'react';
import { useAccount } from '../api/account.ts';
import { useAccountChange } from '../api/account-change.ts';
import { aboutField } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';

export function PasswordCard() {
  const { user } = useAccount();
  const form = useRef<HTMLFormElement>(null);
  const change = useAccountChange(() => {
    form.current?.reset();
    toast('Your password is changed. All other sessions have ended.');
  });
  return (
    <Card title="Password" about="Ends all other sessions.">
      <form
        ref={form}
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const text = (name: string) => String(given.get(name) ?? '');
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
              wrong={aboutField(change.error, 'current_password')}
              required
            />
          ) : null}
          <TextField
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            hint="12 characters or more."
            minLength={12}
            wrong={aboutField(change.error, 'password')}
            required
          />
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
