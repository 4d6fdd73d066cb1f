import type { Webhook } from '@rms/api';
import { fieldError } from '../../api/client.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { webhookUrlHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { settingsFields, useSettings } from './settings-fields.tsx';

export function EditWebhookDialog({ of: webhook, onClose }: { readonly of: Webhook; readonly onClose: () => void }) {
  const { data: limits } = useLimits();
  const update = useTenantChange(() => {
    onClose();
    toast('Webhook updated.');
  });
  const settings = useSettings(webhook, update.error);
  return (
    <Dialog title="Edit webhook" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const url = String(form.get('url')).trim();
          update.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body: { url, ...settings.read(form) } });
        }}
      >
        <TextField
          label="Endpoint URL"
          name="url"
          inputMode="url"
          defaultValue={webhook.url}
          hint={webhookUrlHint(limits)}
          error={fieldError(update.error, 'url')}
          required
        />
        {settings.inputs}
        <ErrorNote error={update.error} fields={['url', ...settingsFields]} />
        <DialogFooter onClose={onClose} busy={update.isPending}>
          Save
        </DialogFooter>
      </form>
    </Dialog>
  );
}
