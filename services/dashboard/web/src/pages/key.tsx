import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyDocument, NewKeyDocument } from '../../../src/documents/key.ts';
import { useMay, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Empty, ErrorNote, Loading, Note } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { EditKeyDialog } from './edit-key.tsx';
import { KeyStateBadge, works } from './key-state.tsx';
import { RollKeyDialog } from './roll-key.tsx';
import { ShowKeyDialog } from './show-key.tsx';

export function KeyPage() {
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('keys.write');
  const { data: key, error } = useTenantQuery<KeyDocument>(`/keys/${id}`);
  const [doing, setDoing] = useState<'edit' | 'roll' | 'revoke'>();
  const [made, setMade] = useState<NewKeyDocument>();
  const revoke = useTenantChange(() => {
    setDoing(undefined);
    toast('The key is revoked. No gateway lets it in any more.');
  });
  const close = () => setDoing(undefined);
  const crumbs = [
    <Link key="keys" to="/w/$workspace/$environment/settings/keys" params={tenant}>
      API keys
    </Link>,
  ];
  if (!key) {
    return (
      <>
        <PageHead title="API key" crumbs={crumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the key" />}
      </>
    );
  }
  return (
    <>
      <PageHead
        title={key.name}
        crumbs={crumbs}
        badge={<KeyStateBadge of={key} />}
        lead={<code>{key.hint}</code>}
        actions={
          mayWrite && works(key) ? (
            <>
              <Button onClick={() => setDoing('edit')}>Edit</Button>
              {key.state === 'active' ? <Button onClick={() => setDoing('roll')}>Roll</Button> : null}
              <Button look="danger" onClick={() => setDoing('revoke')}>
                Revoke
              </Button>
            </>
          ) : null
        }
      />
      {key.state === 'rolled' ? (
        <Note tone="warn">
          <p>
            This key was rolled, and works until <Time at={key.rolled_at} />. Whoever is listed below with a recent use
            still has to change over.
          </p>
          {key.replaced_by ? (
            <p>
              <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...tenant, id: key.replaced_by }}>
                The key that takes its place
              </Link>
            </p>
          ) : null}
        </Note>
      ) : null}
      <Card title="Details">
        <Facts
          of={[
            ['Id', <CopyableId key="id" id={key.id} />],
            ['Scope', key.scope],
            ['Created', <Time key="created" at={key.created_at} />],
            ['Created by', key.created_by ?? 'unknown'],
            ['Expires', <Time key="expires" at={key.expires_at} />],
            ['Allowed addresses', key.allowed_ips.length > 0 ? key.allowed_ips.join(', ') : 'any'],
            ['Requests in a window', limitText(key.rate_limit_requests)],
            ['Revoked', <Time key="revoked" at={key.revoked_at} none="no" />],
          ]}
        />
      </Card>
      <Card
        title="Who uses it"
        about="The latest clients by address and program; known some seconds after a use."
        flush
      >
        {key.uses.length === 0 ? (
          <Empty icon="keys" title="Nobody has used it yet">
            Send it with a request: <code>Authorization: Bearer {key.hint}</code>
          </Empty>
        ) : (
          <Table
            label="Clients of this key"
            rows={key.uses}
            keyOf={(use) => `${use.address} ${use.user_agent}`}
            columns={[
              { title: 'Address', cell: (use) => <span className="mono">{use.address}</span> },
              { title: 'Program', cell: (use) => <span className="break">{use.user_agent || 'unknown'}</span> },
              { title: 'Requests', number: true, cell: (use) => use.requests.toLocaleString() },
              { title: 'Last used', cell: (use) => <Time at={use.last_used_at} /> },
            ]}
          />
        )}
      </Card>
      {doing === 'edit' ? <EditKeyDialog of={key} onClose={close} /> : null}
      {doing === 'roll' ? (
        <RollKeyDialog
          of={key}
          onClose={close}
          onMade={(document) => {
            close();
            setMade(document);
          }}
        />
      ) : null}
      {doing === 'revoke' ? (
        <Confirm
          title="Revoke this key?"
          action="Revoke key"
          name={key.name}
          busy={revoke.isPending}
          error={revoke.error}
          onClose={close}
          onConfirm={() => revoke.mutate({ method: 'POST', path: `/keys/${key.id}/revoke` })}
        >
          <p>Every request with it is refused from then on. This cannot be undone.</p>
        </Confirm>
      ) : null}
      {made ? <ShowKeyDialog made={made} onClose={() => setMade(undefined)} /> : null}
    </>
  );
}

function limitText(requests: number | null): string {
  if (requests === null) return 'as the plan says';
  return requests === 0 ? 'no limit' : requests.toLocaleString();
}
