import { useMutation, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { AlertKindName } from '../../../src/documents/alert.ts';
import { call } from '../api/client.ts';
import { Narrow } from '../layout/narrow.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorNote, Loading, Note } from '../ui/notes.tsx';
import { alertKinds } from './alert-kinds.ts';

interface Found {
  readonly address: string;
  readonly environment: string;
  readonly kind: AlertKindName;
  readonly unsubscribed: boolean;
}

/** Behind the link of an alert's mail. */
export function UnsubscribePage() {
  const { token = '' } = useSearch({ from: '/unsubscribe' });
  const found = useQuery({
    queryKey: ['unsubscribe', token],
    queryFn: () => call<Found>('/api/unsubscribe/find', { method: 'POST', body: { token } }),
    retry: false,
  });
  const leave = useMutation({ mutationFn: () => call('/api/unsubscribe', { method: 'POST', body: { token } }) });
  const { data } = found;
  return (
    <Narrow title="Unsubscribe">
      <ErrorNote error={found.error ?? leave.error} />
      {found.isPending ? <Loading what="the link" /> : null}
      {data && (leave.isSuccess || data.unsubscribed) ? (
        <Note tone="good">
          {data.address} gets no more mails of this rule. Somebody who may change the rule can take that back.
        </Note>
      ) : data ? (
        <>
          <p>
            Mails of the rule <strong>{alertKinds[data.kind].title}</strong> ({data.environment}) to{' '}
            <strong>{data.address}</strong>.
          </p>
          <Button look="main" busy={leave.isPending} onClick={() => leave.mutate()}>
            Unsubscribe
          </Button>
        </>
      ) : null}
    </Narrow>
  );
}
