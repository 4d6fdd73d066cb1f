import { useNavigate, useSearch } from '@tanstack/react-router';
import type { MemberDocument } from '../../../src/documents/team.ts';
import { useTenantQuery } from '../api/tenant.ts';
import { TextField } from '../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Pager } from '../ui/pager.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

interface Entry {
  readonly id: string;
  readonly time: string | null;
  readonly environment: string | null;
  readonly actor: string;
  readonly address: string | null;
  readonly action: string;
  readonly target_id: string;
  readonly details_json: string;
}

const from = '/w/$workspace/$environment/settings/audit';

/** Who changed what, from where, when. */
export function AuditPage() {
  const { target, action, cursor } = useSearch({ from });
  const navigate = useNavigate({ from });
  const { data, error } = useTenantQuery<{ data: readonly Entry[]; next: string | null }>('/audit', {
    search: { target, action, cursor },
  });
  const members = useTenantQuery<{ data: readonly MemberDocument[] }>('/members');
  const people = new Map(members.data?.data.map((member) => [`user:${member.user_id}`, member.email]));
  return (
    <>
      <PageHead
        title="Audit log"
        lead="Who changed what in this workspace, in both environments. Entries stay as they are."
      />
      <Card title="Filters">
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const given = new FormData(event.currentTarget);
            const found = ['target', 'action'].map((name) => [name, String(given.get(name)).trim()] as const);
            void navigate({ search: Object.fromEntries(found.filter(([, value]) => value !== '')) });
          }}
        >
          <TextField
            label="What was changed"
            name="target"
            placeholder="key_…, wh_…"
            defaultValue={target}
            className="input-code"
          />
          <TextField
            label="Action"
            name="action"
            placeholder="key. or key.created"
            defaultValue={action}
            className="input-code"
          />
          <button type="submit" className="visually-hidden">
            Apply
          </button>
        </form>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="the audit log" rows={12} />}
        {data?.data.length === 0 ? (
          <Empty icon="audit" title="No entry matches">
            Each change of keys, webhooks and people makes one.
          </Empty>
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Audit log"
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Time', cell: (entry) => <Time at={entry.time} /> },
              { title: 'Action', cell: (entry) => <code>{entry.action}</code> },
              {
                title: 'Who',
                cell: (entry) => (
                  <span className="break wide">
                    {people.get(entry.actor) ?? entry.actor}
                    {entry.address ? <span className="soft small"> from {entry.address}</span> : null}
                  </span>
                ),
              },
              { title: 'What', cell: (entry) => <code className="break wide">{entry.target_id}</code> },
              { title: 'Environment', cell: (entry) => entry.environment ?? 'both' },
              {
                title: 'Details',
                cell: (entry) =>
                  entry.details_json === '{}' ? null : (
                    <details>
                      <summary>Show</summary>
                      <code className="break">{entry.details_json}</code>
                    </details>
                  ),
              },
            ]}
          />
        ) : null}
        {data ? <Pager next={data.next} /> : null}
      </Card>
    </>
  );
}
