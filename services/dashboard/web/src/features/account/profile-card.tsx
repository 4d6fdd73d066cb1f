import { useState } from 'react';
import { useAccount } from '../../api/account.ts';
import { fieldError } from '../../api/client.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { useAccountChange } from './account-change.ts';
import { ProofField, proofFields, proofOf } from './proof-field.tsx';

/** Card for the name and the sign-in email address. */
export function ProfileCard() {
  const { user } = useAccount();
  const [changing, setChanging] = useState(false);
  const rename = useAccountChange(() => toast('Name saved.'));
  return (
    <Card title="Profile">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const name = String(new FormData(event.currentTarget).get('name')).trim();
          rename.mutate({ method: 'PATCH', path: '', body: { name } });
        }}
      >
        <div className="form-grid">
          <TextField
            label="Name"
            name="name"
            autoComplete="name"
            maxLength={100}
            defaultValue={user.name}
            hint="Shown to other members."
            error={fieldError(rename.error, 'name')}
          />
          <TextField label="Email" type="email" value={user.email} hint="Used to sign in." readOnly />
        </div>
        <ErrorNote error={rename.error} fields={['name']} />
        <div className="row">
          <Button type="submit" busy={rename.isPending}>
            Save name
          </Button>
          <Button onClick={() => setChanging(true)}>Change email address</Button>
        </div>
      </form>
      {changing ? <EmailDialog onClose={() => setChanging(false)} /> : null}
    </Card>
  );
}

function EmailDialog({ onClose }: { readonly onClose: () => void }) {
  const [sentTo, setSentTo] = useState<string>();
  const change = useAccountChange();
  return (
    <Dialog title="Change email address" onClose={onClose}>
      {sentTo === undefined ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const email = String(new FormData(event.currentTarget).get('email')).trim();
            const body = { email, ...proofOf(event.currentTarget) };
            change.mutate({ path: '/email', body }, { onSuccess: () => setSentTo(email) });
          }}
        >
          <TextField
            label="New email address"
            name="email"
            type="email"
            autoComplete="email"
            error={fieldError(change.error, 'email')}
            required
          />
          <ProofField error={change.error} />
          <ErrorNote error={change.error} fields={['email', ...proofFields]} />
          <DialogFooter onClose={onClose} busy={change.isPending}>
            Send link
          </DialogFooter>
        </form>
      ) : (
        <div className="stack">
          <Note tone="good">
            We sent a link to {sentTo}, unless another account uses that address. Open it within a day.
          </Note>
          <p>Until then, sign in with your current address. We also notify that address of the change.</p>
          <div className="row row-end">
            <Button variant="main" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
