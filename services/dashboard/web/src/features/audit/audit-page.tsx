import { useNavigate, useSearch } from '@tanstack/react-router';
import { TextField } from '../../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useMemberEmails } from '../team/member-queries.ts';
import { useAuditEntries } from './audit-queries.ts';

const from = '/w/$workspace/$environment/settings/audit';

/** Page with the audit log. */
export function AuditPage() {
  const { target, action, cursor } = useSearch({ from });
  const navigate = useNavigate({ from });
  const { data, error } = useAuditEntries({ target, action, cursor });
  const emails = useMemberEmails();
  return (
    <>
      <PageHeader
        title="Audit log"
        lead="All changes in this workspace, in both environments. Entries cannot be changed."
      />
      <Card title="Filters">
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            const found = ['target', 'action'].map((name) => [name, String(form.get(name)).trim()] as const);
            void navigate({ search: Object.fromEntries(found.filter(([, value]) => value !== '')) });
          }}
        >
          <TextField
            label="Target"
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
          <Empty icon="audit" title="No matching entries">
            {data.next
              ? 'There are none on this page. Open the next page, or change the filters.'
              : 'Every change to keys, webhooks and members is recorded here.'}
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
                title: 'Actor',
                cell: (entry) => (
                  <span className="break wide">
                    {emails.get(entry.actor) ?? entry.actor}
                    {entry.address ? <span className="soft small"> from {entry.address}</span> : null}
                  </span>
                ),
              },
              { title: 'Target', cell: (entry) => <code className="break wide">{entry.target_id}</code> },
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
