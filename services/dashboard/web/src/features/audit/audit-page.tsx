import { useNavigate, useSearch } from '@tanstack/react-router';
import { withoutEmpty } from '../../search.ts';
import { SelectField } from '../../ui/field.tsx';
import { TextFilter, TimeRangeFilter } from '../../ui/filters.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useMemberEmails } from '../team/member-queries.ts';
import { type AuditFilter, useAuditEntries } from './audit-queries.ts';
import { ActionCell, ActorCell, ChangesCell, TargetCell } from './entry-cells.tsx';
import { ExportButton } from './export-button.tsx';

const from = '/w/$workspace/$environment/settings/audit';

/** Page with the audit log. */
export function AuditPage() {
  const search = useSearch({ from });
  const { cursor: _, ...filter } = search;
  const navigate = useNavigate({ from });
  const { data, error } = useAuditEntries(search);
  const emails = useMemberEmails();
  const set = (changed: AuditFilter) => void navigate({ search: withoutEmpty({ ...filter, ...changed }) });
  return (
    <>
      <PageHeader
        title="Audit log"
        lead="All changes in this workspace, in both environments. Entries cannot be changed."
        actions={<ExportButton filter={filter} emails={emails} />}
      />
      <Card title="Filters">
        <div className="filters">
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
          <TimeRangeFilter of={filter} onSet={set} />
          <TextFilter
            label="Target"
            value={filter.target}
            placeholder="key_…, wh_…"
            onSet={(target) => set({ target })}
          />
          <TextFilter
            label="Action"
            value={filter.action}
            placeholder="key. or key.created"
            onSet={(action) => set({ action })}
          />
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label="Loading the audit log" rows={12} />}
        {data?.data.length === 0 ? (
          <Empty icon="audit" title="No matching entries">
            {data.next
              ? 'No entry on this page matches. Open the next page, or change the filters.'
              : 'Every change to keys, webhooks and members is recorded here.'}
          </Empty>
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Audit log"
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Time', cell: (entry) => <Time at={entry.created_at} /> },
              { title: 'Action', cell: (entry) => <ActionCell entry={entry} /> },
              { title: 'Target', cell: (entry) => <TargetCell entry={entry} /> },
              { title: 'Changes', cell: (entry) => <ChangesCell entry={entry} /> },
              { title: 'Actor', cell: (entry) => <ActorCell entry={entry} name={emails.get(entry.actor)} /> },
            ]}
          />
        ) : null}
        {data ? <Pager next={data.next} /> : null}
      </Card>
    </>
  );
}

/** Options of the actors: the members, and the URL's actor if it is not a member. */
function actorOptions(emails: ReadonlyMap<string, string>, selected = ''): [value: string, text: string][] {
  const unknown: [string, string][] = selected !== '' && !emails.has(selected) ? [[selected, selected]] : [];
  return [['', 'Any user, key or operator'], ...unknown, ...emails];
}
