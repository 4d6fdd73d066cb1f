import { useState } from 'react';
import { useAccount } from '../api/account.ts';
import { useAccountChange } from '../api/account-change.ts';
import { aboutField } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';
import { ProofField, proofFields, proofOf } from './proof-field.tsx';

/** One's name, and the address by which one signs in. */
export function ProfileCard() {
  const { user } = useAccount();
  const [changing, setChanging] = useState(false);
  const rename = useAccountChange(() => toast('Your name is changed.'));
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
            hint="As the others see you."
            wrong={aboutField(rename.error, 'name')}
          />
          <TextField label="E-mail" type="email" value={user.email} hint="By which you sign in." readOnly />
        </div>
        <ErrorNote error={rename.error} fields={['name']} />
        <div className="row">
          <Button type="submit" busy={rename.isPending}>
            Save name
          </Button>
          <Button onClick={() => setChanging(true)}>Change e-mail address</Button>
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
    <Dialog title="Change your e-mail address" onClose={onClose}>
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
            label="New e-mail address"
            name="email"
            type="email"
            autoComplete="email"
            wrong={aboutField(change.error, 'email')}
            required
          />
          <ProofField error={change.error} />
          <ErrorNote error={change.error} fields={['email', ...proofFields]} />
          <DialogFoot onClose={onClose} busy={change.isPending}>
            Send a link
          </DialogFoot>
        </form>
      ) : (
        <div className="stack">
          <Note tone="good">
            A link is on its way to {sentTo}, unless another account has that address. Follow it within a day.
          </Note>
          <p>Until then you sign in as before. Your old address is told of the change.</p>
          <div className="row row-end">
            <Button look="main" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
