import { metadataLimits, resourceNameLength } from '@rms/base/value-rules';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { cursorOf, useMay, useTenant } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { visibleName } from '../../ui/names.ts';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { ResourceDialog } from './resource-dialog.tsx';
import { sortByMetadata, useResources } from './resource-queries.ts';
import { ResourceStatusBadge, statusOptions } from './resource-status.tsx';

const from = '/w/$workspace/$environment/resources';
const sorts: readonly (readonly [string, string])[] = [
  ['-created_at', 'Newest first'],
  ['created_at', 'Oldest first'],
  ['-updated_at', 'Last updated first'],
  ['updated_at', 'Last updated last'],
  ['name', 'Name, A to Z'],
  ['-name', 'Name, Z to A'],
];

export function ResourcesPage() {
  const tenant = useTenant();
  const { status, sort, name, metadata, cursor } = useSearch({ from });
  const navigate = useNavigate({ from });
  const mayWrite = useMay('resources:write');
  const { data, error } = useResources({ status, sort, name, metadata, cursor });
  const [creating, setCreating] = useState(false);
  const isFiltered = Boolean(status || name || metadata);
  const set = (changes: { status?: string; sort?: string; name?: string; metadata?: string }) =>
    void navigate({
      search: (before) => {
        const { cursor: _, ...remaining } = { ...before, ...changes };
        return withoutEmpty(remaining);
      },
      replace: true,
    });
  const create = mayWrite ? (
    <Button variant="main" onClick={() => setCreating(true)}>
      Create resource
    </Button>
  ) : null;
  return (
    <>
      <PageHeader title="Resources" actions={create} />
      <Card title="Filters">
        <div className="filters">
          <SelectField
            label="Status"
            value={status ?? ''}
            options={[['', 'Any status'], ...statusOptions]}
            onChange={(event) => set({ status: event.target.value })}
          />
          <SelectField
            label="Order"
            value={
              metadata ? sortByMetadata(sort) : name ? (sort === '-name' ? '-name' : 'name') : (sort ?? '-created_at')
            }
            options={metadata ? sorts.slice(0, 2) : name ? sorts.slice(-2) : sorts}
            onChange={(event) => set({ sort: event.target.value })}
          />
          <form
            onSubmit={(event) => {
              event.preventDefault();
              set({ name: String(new FormData(event.currentTarget).get('name')) });
            }}
          >
            <TextField
              key={name}
              label="Name prefix"
              name="name"
              defaultValue={name}
              maxLength={resourceNameLength}
              type="search"
              onBlur={(event) => event.target.value !== (name ?? '') && set({ name: event.target.value })}
            />
          </form>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              set({ metadata: String(new FormData(event.currentTarget).get('metadata')) });
            }}
          >
            <TextField
              key={metadata}
              label="Metadata"
              name="metadata"
              defaultValue={metadata}
              placeholder="key=value"
              pattern="[^=]+=.*"
              title="A key, an equals sign, and the exact value"
              maxLength={metadataLimits.keyLength + 1 + metadataLimits.valueLength}
              type="search"
            />
          </form>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const id = String(new FormData(event.currentTarget).get('id')).trim();
              if (id) void navigate({ to: '/w/$workspace/$environment/resources/$id', params: { ...tenant, id } });
            }}
          >
            <TextField label="Go to ID" name="id" placeholder="res_…" className="input-code" type="search" />
          </form>
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label="Loading resources" rows={12} />}
        {data?.data.length === 0 ? (
          <Empty icon="resources" title={isFiltered ? 'No matching resources' : 'No resources yet'} action={create}>
            {isFiltered
              ? 'Change the filters.'
              : 'Create one here, or with POST /v1/resources and a key with the scope write.'}
          </Empty>
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Resources"
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Name',
                cell: (resource) => (
                  <Link
                    to="/w/$workspace/$environment/resources/$id"
                    params={{ ...tenant, id: resource.id }}
                    className="main-link break"
                  >
                    {visibleName(resource)}
                  </Link>
                ),
              },
              { title: 'ID', cell: (resource) => <code className="break">{resource.id}</code> },
              { title: 'Status', cell: (resource) => <ResourceStatusBadge of={resource} /> },
              { title: 'Updated', cell: (resource) => <Time at={resource.updated_at} /> },
              { title: 'Created', cell: (resource) => <Time at={resource.created_at} /> },
            ]}
          />
        ) : null}
        {data ? (
          <Pager
            total={data.meta.total ?? undefined}
            next={cursorOf(data.links.next)}
            previous={cursorOf(data.links.prev)}
          />
        ) : null}
      </Card>
      {creating ? (
        <ResourceDialog
          onClose={() => setCreating(false)}
          onDone={({ id }) =>
            void navigate({ to: '/w/$workspace/$environment/resources/$id', params: { ...tenant, id } })
          }
        />
      ) : null}
    </>
  );
}
