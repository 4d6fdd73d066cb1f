import type { AlertChannel } from '@rms/api';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Secret } from '../../ui/copy.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { channelsPath } from './alert-queries.ts';

/** Labels of the types of channels. */
export const channelTypes: Readonly<Record<AlertChannel['type'], string>> = {
  email: 'Email',
  pagerduty: 'PagerDuty',
  slack: 'Slack',
  webhook: 'Signed webhook',
};

type NewChannel = One<AlertChannel & { readonly secret?: string }>;

/** Dialog that creates a channel, or changes the given one. Secrets are written, but never shown. */
export function ChannelDialog({
  of: channel,
  onClose,
}: {
  readonly of?: AlertChannel | undefined;
  readonly onClose: () => void;
}) {
  const [type, setType] = useState<AlertChannel['type']>(channel?.type ?? 'email');
  const [secret, setSecret] = useState<string>();
  const change = useTenantChange<NewChannel>(({ data }) => {
    if (data.secret) return setSecret(data.secret);
    onClose();
    toast('Channel saved.');
  });
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />;
  const keptHint = channel?.hint ? `Empty: keep the current one (${channel.hint}).` : undefined;
  return (
    <Dialog title={channel ? `Edit channel: ${channel.name}` : 'Add channel'} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? '').trim();
          const url = text('url');
          const routingKey = text('routing_key');
          const body = {
            name: text('name'),
            ...(type === 'email' ? { addresses: linesOf(text('addresses')) } : {}),
            ...(url === '' ? {} : { url }),
            ...(routingKey === '' ? {} : { routing_key: routingKey }),
          };
          if (channel) change.mutate({ method: 'PATCH', path: `${channelsPath}/${channel.id}`, body });
          else change.mutate({ method: 'POST', path: channelsPath, body: { type, ...body } });
        }}
      >
        <TextField
          label="Name"
          name="name"
          defaultValue={channel?.name}
          error={fieldError(change.error, 'name')}
          required
        />
        {channel ? null : (
          <SelectField
            label="Type"
            value={type}
            options={Object.entries(channelTypes)}
            onChange={(event) => setType(event.target.value as AlertChannel['type'])}
          />
        )}
        {type === 'email' ? (
          <TextArea
            label="Addresses"
            name="addresses"
            rows={3}
            defaultValue={channel?.addresses.join('\n')}
            hint={addressesHint(channel)}
            error={fieldError(change.error, 'addresses')}
            required
          />
        ) : null}
        {type === 'slack' || type === 'webhook' ? (
          <TextField
            label={type === 'slack' ? 'URL of the incoming webhook' : 'URL'}
            name="url"
            defaultValue={channel?.url ?? ''}
            hint={keptHint}
            error={fieldError(change.error, 'url')}
            required={!keptHint}
          />
        ) : null}
        {type === 'pagerduty' ? (
          <TextField
            label="Integration key"
            name="routing_key"
            autoComplete="off"
            hint={keptHint ?? 'Of a service with the integration “Events API v2”.'}
            error={fieldError(change.error, 'routing_key')}
            required={!keptHint}
          />
        ) : null}
        <ErrorNote error={change.error} fields={['name', 'addresses', 'url', 'routing_key']} />
        <DialogFooter onClose={onClose} busy={change.isPending}>
          Save
        </DialogFooter>
      </form>
    </Dialog>
  );
}

function addressesHint(channel: AlertChannel | undefined): string {
  const hint = 'One per line. Addresses of non-members must confirm first.';
  const { unconfirmed = [] } = channel ?? {};
  return unconfirmed.length > 0 ? `${hint} Not confirmed: ${unconfirmed.join(', ')}.` : hint;
}

function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Signing secret" onClose={onClose} closable={false}>
      <Note tone="warn">
        Copy the secret now. It is shown only once. Messages are signed like deliveries of webhooks.
      </Note>
      <Secret text={secret} label="Copy secret" />
      <div className="row row-end">
        <Button variant="main" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </Dialog>
  );
}

/** Dialog that confirms a channel's deletion. */
export function DeleteChannelDialog({
  of: { id, name },
  onClose,
}: {
  readonly of: AlertChannel;
  readonly onClose: () => void;
}) {
  const remove = useTenantChange(() => {
    onClose();
    toast('Channel deleted.');
  });
  return (
    <Confirm
      title={`Delete channel ${name}?`}
      action="Delete channel"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ method: 'DELETE', path: `${channelsPath}/${id}` })}
      onClose={onClose}
    >
      <p>Rules no longer send alerts to it. Queued messages are not sent.</p>
    </Confirm>
  );
}
