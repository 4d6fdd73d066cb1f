import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyDocument, NewKeyDocument } from '../../../src/documents/key.ts';
import { useMay, useTenant, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { endOf, KeyLink, KeyStateBadge, lastUseOf, works } from './key-state.tsx';
import { NewKeyDialog } from './new-key.tsx';
import { ShowKeyDialog } from './show-key.tsx';

export function KeysPage() {
  const tenant = useTenant();
  const { show } = useSearch({ from: '/w/$workspace/$environment/settings/keys' });
  const mayWrite = useMay('keys.write');
  const { data, error } = useTenantQuery<{ data: KeyDocument[] }>('/keys');
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<NewKeyDocument>();
  const all = data?.data ?? [];
  const rows = show === 'all' ? all : all.filter(works);
  const hidden = all.length - all.filter(works).length;
  const create = mayWrite ? (
    <Button look="main" onClick={() => setMaking(true)}>
      Create key
    </Button>
  ) : null;
  return (
    <>
      <PageHead
        title="API keys"
        lead={`Keys of ${tenant.environment === 'live' ? 'live' : 'the sandbox'}. The other environment has its own.`}
        actions={create}
      />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="keys" rows={6} />}
        {data && rows.length === 0 ? (
          <Empty icon="keys" title="No key works here" action={create}>
            A program that calls the API sends a key with every request. Create one, with no more scope than it needs.
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
              { title: 'State', cell: (key) => <KeyStateBadge of={key} /> },
              { title: 'Last used', cell: (key) => <Time at={lastUseOf(key)} /> },
              { title: 'Ends', cell: (key) => <Time at={endOf(key)} /> },
            ]}
          />
        ) : null}
        {hidden > 0 ? (
          <div className="table-foot">
            <Link
              to="/w/$workspace/$environment/settings/keys"
              params={tenant}
              search={show === 'all' ? {} : { show: 'all' }}
            >
              {show === 'all' ? 'Hide keys that have ended' : `Show ${hidden} that have ended`}
            </Link>
          </div>
        ) : null}
      </Card>
      {making ? (
        <NewKeyDialog
          onClose={() => setMaking(false)}
          onMade={(document) => {
            setMaking(false);
            setMade(document);
          }}
        />
      ) : null}
      {made ? <ShowKeyDialog made={made} onClose={() => setMade(undefined)} /> : null}
    </>
  );
}
