import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAccount } from '../api/account.ts';
import { call } from '../api/client.ts';
import { queryClient } from '../api/query-client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';
import { ProofField, proofFields, proofOf } from './proof-field.tsx';

/** The end of one's account. */
export function DeleteAccountCard() {
  const [deleting, setDeleting] = useState(false);
  return (
    <Card title="Delete your account" about="You leave all workspaces. What you have made there stays.">
      <Button look="danger" onClick={() => setDeleting(true)}>
        Delete account
      </Button>
      {deleting ? <DeleteDialog onClose={() => setDeleting(false)} /> : null}
    </Card>
  );
}

function DeleteDialog({ onClose }: { readonly onClose: () => void }) {
  const { user } = useAccount();
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const remove = useMutation({
    mutationFn: (proof: object) => call('/api/account/delete', { method: 'POST', body: proof }),
    async onSuccess() {
      queryClient.clear();
      toast('Your account is deleted.');
      await navigate({ to: '/sign-in' });
    },
  });
  return (
    <Dialog title="Delete your account?" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          remove.mutate(proofOf(event.currentTarget));
        }}
      >
        <p>You are signed out everywhere, and cannot sign in again. This cannot be undone.</p>
        <TextField
          label={`Type ${user.email} to confirm`}
          value={typed}
          autoComplete="off"
          onChange={(event) => setTyped(event.target.value)}
          required
        />
        <ProofField error={remove.error} />
        <ErrorNote error={remove.error} fields={proofFields} />
        <DialogFoot onClose={onClose} busy={remove.isPending} look="danger" disabled={typed !== user.email}>
          Delete account
        </DialogFoot>
      </form>
    </Dialog>
  );
}
