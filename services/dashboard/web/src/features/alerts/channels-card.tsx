import type { AlertChannel, AlertChannelTest } from '@rms/api';
import { useState } from 'react';
import { type One, useMay, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { channelsPath, useChannels } from './alert-queries.ts';
import { ChannelDialog, channelTypes, DeleteChannelDialog } from './channel-dialogs.tsx';

type Opened = { readonly dialog: 'new' } | { readonly dialog: 'edit' | 'delete'; readonly channel: AlertChannel };

/** Card with the destinations of alerts besides the rules' recipients. */
export function ChannelsCard() {
  const mayWrite = useMay('alerts:write');
  const { data, error } = useChannels();
  const [opened, setOpened] = useState<Opened>();
  const close = () => setOpened(undefined);
  const test = useTenantChange<One<AlertChannelTest>>(({ data }) => toast(testText(data)));
  return (
    <Card
      title="Channels"
      flush
      actions={
        mayWrite ? (
          <Button small onClick={() => setOpened({ dialog: 'new' })}>
            Add channel
          </Button>
        ) : null
      }
    >
      <ErrorNote error={error ?? test.error} />
      {data ? null : error ? null : <Loading label="Loading channels" rows={2} />}
      {data?.data.length === 0 ? (
        <Empty icon="alerts" title="No channels yet">
          Add PagerDuty, Slack, a signed webhook or more email addresses, then choose the channel in a rule.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="Channels"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
            { title: 'Type', cell: ({ type }) => channelTypes[type] },
            { title: 'Destination', cell: (channel) => <span className="break">{destinationOf(channel)}</span> },
            {
              title: '',
              cell: (channel) =>
                mayWrite ? (
                  <div className="row row-end">
                    <Button
                      small
                      aria-label={`Test channel: ${channel.name}`}
                      onClick={() => test.mutate({ method: 'POST', path: `${channelsPath}/${channel.id}/test` })}
                    >
                      Test
                    </Button>
                    <Button
                      small
                      aria-label={`Edit channel: ${channel.name}`}
                      onClick={() => setOpened({ dialog: 'edit', channel })}
                    >
                      Edit
                    </Button>
                    <Button
                      small
                      aria-label={`Delete channel: ${channel.name}`}
                      onClick={() => setOpened({ dialog: 'delete', channel })}
                    >
                      Delete
                    </Button>
                  </div>
                ) : null,
            },
          ]}
        />
      ) : null}
      {opened?.dialog === 'new' ? <ChannelDialog onClose={close} /> : null}
      {opened?.dialog === 'edit' ? <ChannelDialog of={opened.channel} onClose={close} /> : null}
      {opened?.dialog === 'delete' ? <DeleteChannelDialog of={opened.channel} onClose={close} /> : null}
    </Card>
  );
}

function destinationOf({ addresses, url, hint }: AlertChannel): string {
  return url ?? hint ?? addresses.join(', ');
}

function testText({ delivered, error, duration_ms: ms }: AlertChannelTest): string {
  return delivered ? `Test message delivered in ${ms} ms.` : `Test message not delivered: ${error ?? 'unknown error'}`;
}
