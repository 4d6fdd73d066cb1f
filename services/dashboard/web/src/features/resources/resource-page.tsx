import type { FullResource, Resource } from '@rms/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type One, useMay, useOptimisticTenantChange, useTenant, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { CodeBlock, CopyableId } from '../../ui/copy.tsx';
import { visibleName } from '../../ui/names.ts';
import { ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { ResourceDialog } from './resource-dialog.tsx';
import { ResourceEventsCard } from './resource-events-card.tsx';
import { useResource } from './resource-queries.ts';
import { ResourceStatusBadge } from './resource-status.tsx';

export function ResourcePage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('resources:write');
  const { data: resource, error } = useResource(id);
  const [openDialog, setOpenDialog] = useState<'edit' | 'delete'>();
  const archive = useOptimisticTenantChange<One<Resource>, Resource['status'], One<Resource>>({
    path: `/resources/${id}`,
    change: (status) => ({ method: 'PATCH', path: `/resources/${id}`, body: { status } }),
    apply: ({ data }, status) => ({ data: { ...data, status } }),
    failureMessage: 'The resource was not changed.',
    onDone: ({ data: { status } }) => toast(`The resource is ${status}.`),
  });
  const remove = useTenantChange(() => {
    toast('Resource deleted.');
    void navigate({ to: '/w/$workspace/$environment/resources', params: tenant });
  });
  const breadcrumbs = [
    <Link key="resources" to="/w/$workspace/$environment/resources" params={tenant}>
      Resources
    </Link>,
  ];
  if (!resource) {
    return (
      <>
        <PageHeader title="Resource" breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading label="Loading the resource" />}
        <ResourceEventsCard id={id} />
      </>
    );
  }
  const isArchived = resource.status === 'archived';
  return (
    <>
      <PageHeader
        title={visibleName(resource)}
        breadcrumbs={breadcrumbs}
        badge={<ResourceStatusBadge of={resource} />}
        lead={<CopyableId id={resource.id} />}
        actions={
          mayWrite ? (
            <>
              <Button onClick={() => setOpenDialog('edit')}>Edit</Button>
              <Button onClick={() => archive.mutate(isArchived ? 'active' : 'archived')}>
                {isArchived ? 'Unarchive' : 'Archive'}
              </Button>
              <Button variant="danger" onClick={() => setOpenDialog('delete')}>
                Delete
              </Button>
            </>
          ) : null
        }
      />
      <Card title="Details">
        <DescriptionList
          of={[
            ['Input type', resource.input_type ?? 'not set'],
            ['Created', <Time key="created" at={resource.created_at} />],
            ['Updated', <Time key="updated" at={resource.updated_at} />],
          ]}
        />
      </Card>
      <Card title="API representation">
        <CodeBlock text={jsonOf(resource)} label="Resource JSON" />
      </Card>
      <ResourceEventsCard id={id} />
      {openDialog === 'edit' ? (
        <ResourceDialog
          of={resource}
          onClose={() => setOpenDialog(undefined)}
          onDone={() => {
            setOpenDialog(undefined);
            toast('Resource updated.');
          }}
        />
      ) : null}
      {openDialog === 'delete' ? (
        <Confirm
          title={`Delete resource ${visibleName(resource)}?`}
          action="Delete resource"
          name={visibleName(resource)}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setOpenDialog(undefined)}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/resources/${id}` })}
        >
          <p>The resource and its metadata are deleted permanently. This cannot be undone.</p>
        </Confirm>
      ) : null}
    </>
  );
}

function jsonOf({ input_type: _, ...resource }: FullResource): string {
  return JSON.stringify(resource, null, 2);
}
