import type { Webhook } from '@rms/api';
import { fieldError } from '../../api/client.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { toast } from '../../toasts.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { useLimits } from '../rules/limits-queries.ts';
import { settingsFields, useSettings } from './settings-fields.tsx';
import { webhookUrlHint } from './webhook-limits.ts';

export function EditWebhookDialog({ of: webhook, onClose }: { readonly of: Webhook; readonly onClose: () => void }) {
  const texts = webhookTexts();
  const { data: limits } = useLimits();
  const update = useTenantChange(() => {
    onClose();
    toast(texts.saved);
  });
  const settings = useSettings(webhook, update.error);
  return (
    <Dialog title={texts.editTitle} onClose={onClose}>
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
          label={texts.endpointUrl}
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
          {texts.save}
        </DialogFooter>
      </form>
    </Dialog>
  );
}
