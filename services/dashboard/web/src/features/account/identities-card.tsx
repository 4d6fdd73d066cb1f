import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { IdentityDocument } from '../../../../src/documents/account.ts';
import { call } from '../../api/client.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useAccountChange } from './account-change.ts';
import { ProofField, proofFields, proofOf } from './proof-field.tsx';

/** Card with the linked identities. Hidden without any. */
export function IdentitiesCard() {
  const { data, error } = useQuery({
    queryKey: ['account', 'identities'],
    queryFn: ({ signal }) => call<{ data: IdentityDocument[] }>('/api/account/identities', { signal }),
  });
  const [unlinking, setUnlinking] = useState<IdentityDocument>();
  if (!error && !data?.data.length) return null;
  return (
    <Card title="Single sign-on" about="Identity providers with which you can sign in without your password." flush>
      <ErrorNote error={error} />
      {data ? (
        <Table
          label="Linked identities"
          rows={data.data}
          keyOf={({ issuer }) => issuer}
          columns={[
            { title: 'Provider', cell: (row) => <span title={`Subject ${row.subject}`}>{row.issuer}</span> },
            { title: 'Linked by', cell: (row) => row.email || 'Unknown' },
            { title: 'IP address', cell: (row) => <span className="mono">{row.address || 'Unknown'}</span> },
            { title: 'Linked', cell: (row) => (row.linked_at ? <Time at={row.linked_at} /> : 'Unknown') },
            {
              title: '',
              cell: (row) => (
                <Button small aria-label={`Unlink ${row.issuer}`} onClick={() => setUnlinking(row)}>
                  Unlink
                </Button>
              ),
            },
          ]}
        />
      ) : null}
      {unlinking ? <UnlinkDialog issuer={unlinking.issuer} onClose={() => setUnlinking(undefined)} /> : null}
    </Card>
  );
}

function UnlinkDialog({ issuer, onClose }: { readonly issuer: string; readonly onClose: () => void }) {
  const unlink = useAccountChange(() => {
    onClose();
    toast('Identity unlinked. All other sessions have ended.');
  });
  return (
    <Dialog title="Unlink identity?" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          unlink.mutate({ path: '/identities/unlink', body: { issuer, ...proofOf(event.currentTarget) } });
        }}
      >
        <p>
          The linked identity of {issuer} can no longer sign in to your account, and all other sessions end. The next
          single sign-on with your verified email address links an identity again.
        </p>
        <ProofField error={unlink.error} />
        <ErrorNote error={unlink.error} fields={proofFields} />
        <DialogFooter onClose={onClose} busy={unlink.isPending} variant="danger">
          Unlink
        </DialogFooter>
      </form>
    </Dialog>
  );
}
