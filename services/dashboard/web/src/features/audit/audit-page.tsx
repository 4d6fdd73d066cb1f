import { useNavigate, useSearch } from '@tanstack/react-router';
import { toLocal, toUtc } from '../../local-time.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useMemberEmails } from '../team/member-queries.ts';
import { type AuditFilter, useAuditEntries } from './audit-queries.ts';
import { ActorCell, ChangesCell, TargetCell } from './entry-cells.tsx';
import { ExportButton } from './export-button.tsx';

const from = '/w/$workspace/$environment/settings/audit';

/** Page with the audit log. */
export function AuditPage() {
  const search = useSearch({ from });
  const { cursor: _, ...filter } = search;
  const { target, action } = filter;
  const navigate = useNavigate({ from });
  const { data, error } = useAuditEntries(search);
  const emails = useMemberEmails();
  const set = (changed: AuditFilter) =>
    void navigate({
      search: Object.fromEntries(Object.entries({ ...filter, ...changed }).filter(([, value]) => value)),
    });
  return (
    <>
      <PageHeader
        title="Audit log"
        lead="All changes in this workspace, in both environments. Entries cannot be changed."
        actions={<ExportButton filter={filter} emails={emails} />}
      />
      <Card title="Filters">
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            const textOf = (name: string) => String(form.get(name)).trim();
            set({ target: textOf('target'), action: textOf('action') });
          }}
        >
          <SelectField
            label="User"
            value={filter.actor ?? ''}
            options={actorOptions(emails, filter.actor)}
            onChange={(event) => set({ actor: event.target.value })}
          />
          <SelectField
            label="Environment"
            value={filter.environment ?? ''}
            options={[
              ['', 'Both'],
              ['live', 'Live'],
              ['sandbox', 'Sandbox'],
            ]}
            onChange={(event) => set({ environment: event.target.value })}
          />
          <TextField
            label="Since"
            type="datetime-local"
            value={toLocal(filter.since)}
            onChange={(event) => set({ since: toUtc(event.target.value) })}
          />
          <TextField
            label="Until"
            type="datetime-local"
            value={toLocal(filter.until)}
            onChange={(event) => set({ until: toUtc(event.target.value) })}
          />
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
              { title: 'Target', cell: (entry) => <TargetCell entry={entry} /> },
              { title: 'Changes', cell: (entry) => <ChangesCell entry={entry} /> },
              { title: 'Actor', cell: (entry) => <ActorCell entry={entry} name={emails.get(entry.actor)} /> },
              { title: 'Environment', cell: (entry) => entry.environment ?? 'both' },
            ]}
          />
        ) : null}
        {data ? <Pager next={data.next} /> : null}
      </Card>
    </>
  );
}

/** Options of the actors: the members, and the actor of the URL if it is not a member. */
function actorOptions(emails: ReadonlyMap<string, string>, selected = ''): [value: string, text: string][] {
  const unknown: [string, string][] = selected !== '' && !emails.has(selected) ? [[selected, selected]] : [];
  return [['', 'Any user, key or operator'], ...unknown, ...emails];
}
