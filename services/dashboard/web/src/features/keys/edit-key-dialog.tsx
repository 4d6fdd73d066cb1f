import type { Key } from '@rms/api';
import { fieldError } from '../../api/client.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { timeText } from '../../texts/numbers.ts';
import { toast } from '../../toasts.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { keyLimitHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { expiryOptions, useExpiryAt } from './expiry.ts';

/** Value of the choice that keeps the present expiry. */
const unchanged = 'unchanged';

export function EditKeyDialog({ of: key, onClose }: { readonly of: Key; readonly onClose: () => void }) {
  const { data: limits } = useLimits();
  const expiryAt = useExpiryAt();
  const update = useTenantChange(() => {
    onClose();
    toast('Key updated. The change is effective on every gateway.');
  });
  return (
    <Dialog title="Edit key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? '').trim();
          update.mutate({
            method: 'PATCH',
            path: `/api_keys/${key.id}`,
            body: {
              name: text('name'),
              allowed_ips: linesOf(text('allowed_ips')),
              rate_limit: text('rate_limit') === '' ? null : Number(text('rate_limit')),
              ...(text('days') === unchanged ? {} : { expires_at: expiryAt(text('days')) }),
            },
          });
        }}
      >
        <TextField
          label="Name"
          name="name"
          defaultValue={key.name}
          maxLength={100}
          error={fieldError(update.error, 'name')}
          required
        />
        <TextArea
          label="Allowed IP addresses"
          name="allowed_ips"
          rows={4}
          className="input-code"
          defaultValue={key.allowed_ips.join('\n')}
          hint="IP addresses or CIDR ranges, one per line. Leave empty to allow any address."
          error={fieldError(update.error, 'allowed_ips') ?? fieldError(update.error, 'allowed_ips.0')}
        />
        <TextField
          label="Requests per window"
          name="rate_limit"
          type="number"
          min={1}
          defaultValue={key.rate_limit ?? ''}
          max={limits?.limits.requests_per_window ?? undefined}
          hint={keyLimitHint(limits)}
          error={fieldError(update.error, 'rate_limit')}
        />
        <SelectField
          label="Expires"
          name="days"
          options={[
            [unchanged, key.expires_at ? `On ${timeText(new Date(key.expires_at))}` : 'Never'],
            ...expiryOptions.filter(([days]) => days !== '' || key.expires_at),
          ]}
          error={fieldError(update.error, 'expires_at')}
        />
        <ErrorNote error={update.error} fields={['name', 'allowed_ips', 'allowed_ips.0', 'rate_limit', 'expires_at']} />
        <DialogFooter onClose={onClose} busy={update.isPending}>
          Save
        </DialogFooter>
      </form>
    </Dialog>
  );
}
