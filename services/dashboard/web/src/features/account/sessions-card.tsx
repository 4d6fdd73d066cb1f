import { useQuery } from '@tanstack/react-query';
import type { SessionDocument } from '../../../../src/documents/account.ts';
import { call } from '../../api/client.ts';
import { useOptimisticChange } from '../../api/optimistic.ts';
import { toast } from '../../toasts.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useAccountChange } from './account-change.ts';
import { browserName } from './browser-name.ts';

const queryKey = ['account', 'sessions'];

/** Card with the user's sessions. */
export function SessionsCard() {
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => call<{ data: SessionDocument[] }>('/api/account/sessions', { signal }),
  });
  const endOthers = useAccountChange(() => toast('All other sessions have ended.'));
  const end = useOptimisticChange<{ data: SessionDocument[] }, SessionDocument>({
    queryKey,
    change: ({ id }) => call(`/api/account/sessions/${id}`, { method: 'DELETE' }),
    apply: ({ data: shown }, { id }) => ({ data: shown.filter((one) => one.id !== id) }),
    failureMessage: 'The session was not ended.',
    onDone: () => toast('Session ended.'),
  });
  return (
    <Card
      title="Sessions"
      about="Browsers in which you are signed in."
      flush
      actions={
        <Button small busy={endOthers.isPending} onClick={() => endOthers.mutate({ path: '/sessions/end-others' })}>
          Sign out everywhere else
        </Button>
      }
    >
      <ErrorNote error={error ?? endOthers.error} />
      {data ? (
        <Table
          label="Sessions"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Browser', cell: (row) => <span title={row.user_agent}>{browserName(row.user_agent)}</span> },
            { title: 'IP address', cell: (row) => <span className="mono">{row.address}</span> },
            { title: 'Signed in', cell: (row) => <Time at={row.created_at} /> },
            { title: 'Last seen', cell: (row) => <Time at={row.last_seen_at} /> },
            {
              title: '',
              cell: (row) =>
                row.current ? (
                  <Badge tone="good">This session</Badge>
                ) : (
                  <Button small aria-label={`End session from ${row.address}`} onClick={() => end.mutate(row)}>
                    End
                  </Button>
                ),
            },
          ]}
        />
      ) : (
        <Loading label="Loading sessions" rows={2} />
      )}
    </Card>
  );
}
