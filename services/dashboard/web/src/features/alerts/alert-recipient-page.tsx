import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { linkToken } from '../../api/link-token.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';

interface LinkTarget {
  readonly address: string;
  readonly workspace_name: string;
  readonly confirmed: boolean;
}

/** Page where an alert recipient confirms the address. Requires a click, because email scanners open links. */
export function AlertRecipientPage() {
  const [token] = useState(linkToken);
  const target = useQuery({
    queryKey: ['alert-recipient', token],
    queryFn: () => call<LinkTarget>('/api/alert-recipient/find', { method: 'POST', body: { token } }),
    retry: false,
  });
  const confirm = useMutation({ mutationFn: () => call('/api/alert-recipient', { method: 'POST', body: { token } }) });
  const { data } = target;
  if (target.error) {
    return (
      <CenteredPage title="This link is invalid">
        <Note tone="warn">It may have expired. Ask a member of the workspace to add your address again.</Note>
      </CenteredPage>
    );
  }
  return (
    <CenteredPage title="Receive alert emails">
      <ErrorNote error={confirm.error} />
      {target.isPending ? <Loading label="Loading the link" /> : null}
      {data && (confirm.isSuccess || data.confirmed) ? (
        <Note tone="good">
          {data.address} receives alert emails of {data.workspace_name}. Each email has a link to unsubscribe.
        </Note>
      ) : data ? (
        <>
          <p>
            Send alert emails of the workspace <strong>{data.workspace_name}</strong> to <strong>{data.address}</strong>
            .
          </p>
          <Button variant="main" busy={confirm.isPending} onClick={() => confirm.mutate()}>
            Confirm
          </Button>
        </>
      ) : null}
    </CenteredPage>
  );
}
