import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useAccount } from '../../api/account.ts';
import { call } from '../../api/client.ts';
import { queryClient } from '../../api/query-client.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { ProofField, proofFields, proofOf } from './proof-field.tsx';

/** Card for deleting the account. */
export function DeleteAccountCard() {
  const [deleting, setDeleting] = useState(false);
  return (
    <Card title="Delete account" about="You leave all workspaces. Keys and webhooks that you created remain.">
      <Button variant="danger" onClick={() => setDeleting(true)}>
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
      toast('Account deleted.');
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
        <p>You are signed out everywhere and cannot sign in again. This cannot be undone.</p>
        <TextField
          label={`Type ${user.email} to confirm`}
          value={typed}
          autoComplete="off"
          onChange={(event) => setTyped(event.target.value)}
          required
        />
        <ProofField error={remove.error} />
        <ErrorNote error={remove.error} fields={proofFields} />
        <DialogFooter onClose={onClose} busy={remove.isPending} variant="danger" disabled={typed !== user.email}>
          Delete account
        </DialogFooter>
      </form>
    </Dialog>
  );
}
