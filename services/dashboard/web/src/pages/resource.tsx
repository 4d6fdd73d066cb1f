import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { ResourceDocument } from '../../../src/documents/resource.ts';
import { useMay, useOptimisticTenantChange, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { CodeBlock, CopyableId } from '../ui/copy.tsx';
import { ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { ResourceDialog } from './resource-dialog.tsx';
import { ResourceEventsCard } from './resource-events.tsx';
import { ResourceStateBadge } from './resource-state.tsx';

export function ResourcePage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('resources.write');
  const { data: resource, error } = useTenantQuery<ResourceDocument>(`/resources/${id}`);
  const [doing, setDoing] = useState<'edit' | 'delete'>();
  const archive = useOptimisticTenantChange<ResourceDocument, ResourceDocument['status'], ResourceDocument>({
    path: `/resources/${id}`,
    change: (status) => ({ method: 'PATCH', path: `/resources/${id}`, body: { status } }),
    apply: (shown, status) => ({ ...shown, status }),
    undone: 'The resource is as it was.',
    onDone: ({ status }) => toast(`The resource is ${status}.`),
  });
  const remove = useTenantChange(() => {
    toast('The resource is deleted.');
    void navigate({ to: '/w/$workspace/$environment/resources', params: tenant });
  });
  const crumbs = [
    <Link key="resources" to="/w/$workspace/$environment/resources" params={tenant}>
      Resources
    </Link>,
  ];
  if (!resource) {
    return (
      <>
        <PageHead title="Resource" crumbs={crumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the resource" />}
        <ResourceEventsCard id={id} />
      </>
    );
  }
  const isArchived = resource.status === 'archived';
  return (
    <>
      <PageHead
        title={resource.name}
        crumbs={crumbs}
        badge={<ResourceStateBadge of={resource} />}
        lead={<CopyableId id={resource.id} />}
        actions={
          mayWrite ? (
            <>
              <Button onClick={() => setDoing('edit')}>Edit</Button>
              <Button onClick={() => archive.mutate(isArchived ? 'active' : 'archived')}>
                {isArchived ? 'Take out of the archive' : 'Archive'}
              </Button>
              <Button look="danger" onClick={() => setDoing('delete')}>
                Delete
              </Button>
            </>
          ) : null
        }
      />
      <Card title="Details">
        <Facts
          of={[
            ['Input type', resource.input_type ?? 'not told'],
            ['Created', <Time key="created" at={resource.created_at} />],
            ['Changed', <Time key="updated" at={resource.updated_at} />],
          ]}
        />
      </Card>
      <Card title="As the API returns it">
        <CodeBlock text={jsonOf(resource)} label="JSON of the resource" />
      </Card>
      <ResourceEventsCard id={id} />
      {doing === 'edit' ? (
        <ResourceDialog
          of={resource}
          onClose={() => setDoing(undefined)}
          onDone={() => {
            setDoing(undefined);
            toast('The resource is changed.');
          }}
        />
      ) : null}
      {doing === 'delete' ? (
        <Confirm
          title="Delete this resource?"
          action="Delete resource"
          name={resource.name}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setDoing(undefined)}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/resources/${id}` })}
        >
          <p>The resource and its metadata are removed. This cannot be undone.</p>
        </Confirm>
      ) : null}
    </>
  );
}

function jsonOf({ id, status, name, metadata_json: metadata, created_at, updated_at }: ResourceDocument): string {
  const shown = {
    id,
    type: 'resource',
    status,
    name,
    metadata: JSON.parse(metadata) as object,
    created_at,
    updated_at,
  };
  return JSON.stringify(shown, null, 2);
}
