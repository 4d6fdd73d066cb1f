import { type AlertKind, alertRules } from '@rms/base/alert-rules';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { linkToken } from '../../api/link-token.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';

interface LinkTarget {
  readonly address: string;
  readonly environment: string;
  readonly kind: AlertKind;
  readonly unsubscribed: boolean;
}

interface Change {
  readonly path: '/api/unsubscribe' | '/api/unsubscribe/undo';
  readonly token: string;
}

/** Page that the unsubscribe link in an alert email opens. The token in the fragment undoes the unsubscription. */
export function UnsubscribePage() {
  const { token = '' } = useSearch({ from: '/unsubscribe' });
  const [undoToken] = useState(linkToken);
  const target = useQuery({
    queryKey: ['unsubscribe', token],
    queryFn: () => call<LinkTarget>('/api/unsubscribe/find', { method: 'POST', body: { token } }),
    retry: false,
  });
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: ({ path, token }: Change) => call(path, { method: 'POST', body: { token } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['unsubscribe', token] }),
  });
  const { data } = target;
  return (
    <CenteredPage title="Unsubscribe">
      <ErrorNote error={target.error ?? change.error} />
      {target.isPending ? <Loading label="Loading the link" /> : null}
      {data?.unsubscribed ? (
        <>
          <Note tone="good">{data.address} no longer gets emails of this rule.</Note>
          {undoToken === '' ? null : (
            <Button
              busy={change.isPending}
              onClick={() => change.mutate({ path: '/api/unsubscribe/undo', token: undoToken })}
            >
              Subscribe again
            </Button>
          )}
        </>
      ) : data ? (
        <>
          <p>
            Stop emails of the rule <strong>{alertRules[data.kind].name}</strong> ({data.environment}) to{' '}
            <strong>{data.address}</strong>.
          </p>
          <Button
            variant="main"
            busy={change.isPending}
            onClick={() => change.mutate({ path: '/api/unsubscribe', token })}
          >
            Unsubscribe
          </Button>
        </>
      ) : null}
    </CenteredPage>
  );
}
