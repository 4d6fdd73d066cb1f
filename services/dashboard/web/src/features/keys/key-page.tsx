import type { Key, NewKey } from '@rms/api';
import { isValidKey, scopeText } from '@rms/api/rules';
import { may, permissionsToCreateKey } from '@rms/base/roles';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay, useRole, useTenant, useTenantChange } from '../../api/tenant.ts';
import { numberText } from '../../texts/numbers.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { visibleName } from '../../ui/names.ts';
import { Empty, ErrorNote, Loading, Note } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { RequestsLink } from '../request-links/requests-link.tsx';
import { keyLimitText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { useMembers } from '../team/member-queries.ts';
import { EditKeyDialog } from './edit-key-dialog.tsx';
import { useKey } from './key-queries.ts';
import { CreatorName, KeyStatusBadge } from './key-status.tsx';
import { RollKeyDialog } from './roll-key-dialog.tsx';
import { ShowKeyDialog } from './show-key-dialog.tsx';

export function KeyPage() {
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('keys:write');
  const role = useRole();
  const { data: key, error } = useKey(id);
  const { data: limits } = useLimits();
  const [openDialog, setOpenDialog] = useState<'edit' | 'roll' | 'revoke'>();
  const [created, setCreated] = useState<NewKey>();
  const revoke = useTenantChange(() => {
    setOpenDialog(undefined);
    toast('Key revoked. All gateways reject it.');
  });
  const close = () => setOpenDialog(undefined);
  const breadcrumbs = [
    <Link key="keys" to="/w/$workspace/$environment/settings/keys" params={tenant}>
      API keys
    </Link>,
  ];
  if (!key) {
    return (
      <>
        <PageHeader title="API key" breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading label="Loading the key" />}
      </>
    );
  }
  const mayChange = permissionsToCreateKey(key).every((permission) => may(role, permission));
  return (
    <>
      <PageHeader
        title={visibleName(key)}
        breadcrumbs={breadcrumbs}
        badge={<KeyStatusBadge of={key} />}
        lead={<code>{key.hint}</code>}
        actions={
          mayWrite && isValidKey(key) ? (
            <>
              {mayChange ? <Button onClick={() => setOpenDialog('edit')}>Edit</Button> : null}
              {mayChange && key.status === 'active' ? (
                <Button onClick={() => setOpenDialog('roll')}>Roll</Button>
              ) : null}
              <Button variant="danger" onClick={() => setOpenDialog('revoke')}>
                Revoke
              </Button>
            </>
          ) : null
        }
      />
      {key.status === 'rolled' && isValidKey(key) ? (
        <Note tone="warn">
          <p>
            This key was rolled and works until <Time at={key.overlap_ends_at} />. Clients with a recent use below must
            switch to the new key.
          </p>
          {key.rolled_to ? (
            <p>
              <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...tenant, id: key.rolled_to }}>
                View the new key
              </Link>
            </p>
          ) : null}
        </Note>
      ) : null}
      {isValidKey(key) ? <FormerMemberNote of={key} /> : null}
      <Card title="Details">
        <DescriptionList
          of={[
            ['ID', <CopyableId key="id" id={key.id} />],
            ['Scope', scopeText(key)],
            ['Created', <Time key="created" at={key.created_at} />],
            ['Created by', <CreatorName key="by" of={key} />],
            ['Expires', <Time key="expires" at={key.expires_at} />],
            ['Allowed IP addresses', key.allowed_ips.length > 0 ? key.allowed_ips.join(', ') : 'any'],
            ['Requests per window', keyLimitText(key.rate_limit, limits)],
            [
              'Last refused',
              key.last_refusal ? (
                <span key="refused">
                  <Time at={key.last_refusal.refused_at} />{' '}
                  <RequestsLink of={{ key: key.id, error: key.last_refusal.error_code }}>
                    <code>{key.last_refusal.error_code}</code>
                  </RequestsLink>
                </span>
              ) : (
                'no refused request'
              ),
            ],
            ['Revoked', <Time key="revoked" at={key.revoked_at} none="no" />],
          ]}
        />
      </Card>
      <Card
        title="Clients"
        about="Recent clients by IP address and user agent, updated within seconds."
        actions={<RequestsLink of={{ key: key.id }}>View requests</RequestsLink>}
        flush
      >
        {key.clients.length === 0 ? (
          <Empty icon="keys" title="No recorded use">
            Send the key with a request: <code>Authorization: Bearer {key.hint}</code>
          </Empty>
        ) : (
          <Table
            label="Clients of this key"
            rows={key.clients}
            keyOf={(client) => `${client.address} ${client.user_agent}`}
            columns={[
              { title: 'IP address', cell: (client) => <span className="mono">{client.address}</span> },
              {
                title: 'User agent',
                cell: (client) => <span className="break">{client.user_agent || 'unknown'}</span>,
              },
              {
                title: 'Requests',
                number: true,
                cell: ({ address, requests }) => (
                  <RequestsLink of={{ key: key.id, ip: address }}>{numberText(requests)}</RequestsLink>
                ),
              },
              { title: 'Last used', cell: (client) => <Time at={client.last_used_at} /> },
            ]}
          />
        )}
      </Card>
      {openDialog === 'edit' ? <EditKeyDialog of={key} onClose={close} /> : null}
      {openDialog === 'roll' ? (
        <RollKeyDialog
          of={key}
          onClose={close}
          onCreated={(document) => {
            close();
            setCreated(document);
          }}
        />
      ) : null}
      {openDialog === 'revoke' ? (
        <Confirm
          title={`Revoke key ${visibleName(key)}?`}
          action="Revoke key"
          name={visibleName(key)}
          busy={revoke.isPending}
          error={revoke.error}
          onClose={close}
          onConfirm={() => revoke.mutate({ method: 'DELETE', path: `/api_keys/${key.id}` })}
        >
          <p>Requests with this key fail immediately. This cannot be undone.</p>
        </Confirm>
      ) : null}
      {created ? <ShowKeyDialog created={created} onClose={() => setCreated(undefined)} /> : null}
    </>
  );
}

/** A note if the user who created the key is no longer a member: removing a member does not revoke the keys. */
function FormerMemberNote({ of: { created_by: creator, created_by_name: name } }: { readonly of: Key }) {
  const { data: members } = useMembers();
  if (!members || !creator?.startsWith('user:')) return null;
  if (members.data.some((member) => `user:${member.id}` === creator)) return null;
  return (
    <Note tone="warn">
      <p>
        {name ?? 'A deleted user'} created this key and is no longer a member. The key stays valid. Revoke it if no
        client needs it, or roll it if the creator may still have its value.
      </p>
    </Note>
  );
}
