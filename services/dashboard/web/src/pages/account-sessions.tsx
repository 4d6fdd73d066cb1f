import { useQuery } from '@tanstack/react-query';
import type { SessionDocument } from '../../../src/documents/account.ts';
import { useAccountChange } from '../api/account-change.ts';
import { call } from '../api/client.ts';
import { useOptimisticChange } from '../api/optimistic.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorNote, Loading } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { browserName } from './browser-name.ts';

const queryKey = ['account', 'sessions'];

/** Where one is signed in, and the end of that. */
export function SessionsCard() {
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => call<{ data: SessionDocument[] }>('/api/account/sessions', { signal }),
  });
  const endOthers = useAccountChange(() => toast('You are signed out everywhere else.'));
  const end = useOptimisticChange<{ data: SessionDocument[] }, SessionDocument>({
    queryKey,
    change: ({ id }) => call(`/api/account/sessions/${id}`, { method: 'DELETE' }),
    apply: ({ data: shown }, { id }) => ({ data: shown.filter((one) => one.id !== id) }),
    undone: 'The session has not ended.',
    onDone: () => toast('The session has ended.'),
  });
  return (
    <Card
      title="Sessions"
      about="Browsers that are signed in as you."
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
            { title: 'Address', cell: (row) => <span className="mono">{row.address}</span> },
            { title: 'Signed in', cell: (row) => <Time at={row.created_at} /> },
            { title: 'Last seen', cell: (row) => <Time at={row.last_seen_at} /> },
            {
              title: '',
              cell: (row) =>
                row.current ? (
                  <Badge tone="good">This one</Badge>
                ) : (
                  <Button small aria-label={`End the session from ${row.address}`} onClick={() => end.mutate(row)}>
                    End
                  </Button>
                ),
            },
          ]}
        />
      ) : (
        <Loading what="sessions" rows={2} />
      )}
    </Card>
  );
}
