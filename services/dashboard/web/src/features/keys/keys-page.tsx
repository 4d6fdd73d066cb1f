import type { NewKey } from '@rms/api';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { cursorOf, useMay, useTenant } from '../../api/tenant.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { expiryOf } from './expiry.ts';
import { useKeys } from './key-queries.ts';
import { CreatorName, KeyLink, KeyStatusBadge } from './key-status.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { ShowKeyDialog } from './show-key-dialog.tsx';

export function KeysPage() {
  const tenant = useTenant();
  const { show, cursor } = useSearch({ from: '/w/$workspace/$environment/settings/keys' });
  const mayWrite = useMay('keys:write');
  const { data, error } = useKeys({ show, cursor });
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<NewKey>();
  const rows = data?.data ?? [];
  const create = mayWrite ? (
    <Button variant="main" onClick={() => setCreating(true)}>
      Create key
    </Button>
  ) : null;
  return (
    <>
      <PageHeader
        title="API keys"
        lead={`Keys for ${tenant.environment === 'live' ? 'live' : 'the sandbox'}. Each environment has its own keys.`}
        actions={create}
      />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label="Loading keys" rows={6} />}
        {data && rows.length === 0 ? (
          <Empty icon="keys" title={show === 'all' ? 'No keys' : 'No active keys'} action={create}>
            API clients authenticate with a key. Create one with the smallest scope that the client needs.
          </Empty>
        ) : null}
        {rows.length > 0 ? (
          <Table
            label="API keys"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Name', cell: (key) => <KeyLink of={key} /> },
              { title: 'Key', cell: (key) => <code>{key.hint}</code> },
              { title: 'Scope', cell: (key) => key.scope },
              { title: 'Status', cell: (key) => <KeyStatusBadge of={key} /> },
              { title: 'Created by', cell: (key) => <CreatorName of={key} /> },
              { title: 'Last used', cell: (key) => <Time at={key.last_used_at} /> },
              { title: 'Last refused', cell: (key) => <Time at={key.last_refusal?.refused_at ?? null} /> },
              { title: 'Expires', cell: (key) => <Time at={expiryOf(key)} /> },
            ]}
          />
        ) : null}
        {data ? <Pager next={cursorOf(data.links.next)} /> : null}
        {data ? (
          <div className="table-foot">
            <Link
              to="/w/$workspace/$environment/settings/keys"
              params={tenant}
              search={show === 'all' ? {} : { show: 'all' }}
            >
              {show === 'all' ? 'Hide inactive keys' : 'Show inactive keys'}
            </Link>
          </div>
        ) : null}
      </Card>
      {creating ? (
        <NewKeyDialog
          onClose={() => setCreating(false)}
          onCreated={(document) => {
            setCreating(false);
            setCreated(document);
          }}
        />
      ) : null}
      {created ? <ShowKeyDialog created={created} onClose={() => setCreated(undefined)} /> : null}
    </>
  );
}
