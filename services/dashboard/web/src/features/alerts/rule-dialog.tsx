import type { AlertRule } from '@rms/api';
import { alertRules } from '@rms/base/alert-rules';
import { useState } from 'react';
import { useAccount } from '../../api/account.ts';
import { fieldError } from '../../api/client.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { durationText } from '../../texts/measures.ts';
import { toast } from '../../toasts.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Choice, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { rulesPath, useChannels } from './alert-queries.ts';

const windows = [60, 300, 900, 1_800, 3_600, 21_600, 86_400];

export function RuleDialog({ of: rule, onClose }: { readonly of: AlertRule; readonly onClose: () => void }) {
  const { name: title, threshold: unit, minimum } = alertRules[rule.kind];
  const { email } = useAccount().user;
  const [toOwners, setToOwners] = useState(rule.to_owners);
  const [unsubscribed, setUnsubscribed] = useState<readonly string[]>(rule.unsubscribed);
  const [chosen, setChosen] = useState<readonly string[]>(rule.channels);
  const channels = useChannels().data?.data;
  const update = useTenantChange(() => {
    onClose();
    toast('Rule saved.');
  });
  const isOwn = (address: string) => address === email.toLowerCase();
  const { window: seconds } = rule;
  const choices = [...new Set([...windows, ...(seconds === null ? [] : [seconds])])].sort((a, b) => a - b);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const number = (name: string) => Number(form.get(name));
          update.mutate({
            method: 'PUT',
            path: `${rulesPath}/${rule.kind}`,
            body: {
              ...(unit ? { threshold: number('threshold') / unit.times } : {}),
              ...(seconds === null ? {} : { window: number('window') }),
              ...(minimum ? { minimum: number('minimum') } : {}),
              recipients: linesOf(String(form.get('recipients'))),
              to_owners: toOwners,
              channels: chosen,
              ...(unsubscribed.length === rule.unsubscribed.length ? {} : { unsubscribed }),
            },
          });
        }}
      >
        <div className="form-grid">
          {unit ? (
            <TextField
              label={unit.label}
              name="threshold"
              type="number"
              step="any"
              min={0}
              defaultValue={Number(((rule.threshold ?? 0) * unit.times).toFixed(4))}
              error={fieldError(update.error, 'threshold')}
              required
            />
          ) : null}
          {seconds === null ? null : (
            <SelectField
              label="Time window"
              name="window"
              defaultValue={String(seconds)}
              options={choices.map((choice) => [String(choice), durationText(choice)])}
              error={fieldError(update.error, 'window')}
            />
          )}
          {minimum ? (
            <TextField
              label={minimum}
              name="minimum"
              type="number"
              min={0}
              defaultValue={rule.minimum ?? 0}
              error={fieldError(update.error, 'minimum')}
              required
            />
          ) : null}
        </div>
        <Choice
          type="checkbox"
          label="Email workspace owners"
          checked={toOwners}
          onChange={() => setToOwners(!toOwners)}
        />
        <TextArea
          label="Other recipients"
          name="recipients"
          rows={3}
          defaultValue={rule.recipients.join('\n')}
          hint={recipientsHint(rule)}
          error={fieldError(update.error, 'recipients')}
        />
        {channels && channels.length > 0 ? (
          <fieldset className="choices">
            <legend>Channels</legend>
            {channels.map(({ id, name }) => (
              <Choice
                key={id}
                type="checkbox"
                label={name}
                checked={chosen.includes(id)}
                onChange={() => setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id])}
              />
            ))}
          </fieldset>
        ) : null}
        {rule.unsubscribed.length > 0 ? (
          <fieldset className="choices">
            <legend>Unsubscribed recipients</legend>
            {rule.unsubscribed.map((address) => (
              <Choice
                key={address}
                type="checkbox"
                label={address}
                hint={isOwn(address) ? undefined : 'Only the recipient can subscribe again.'}
                disabled={!isOwn(address)}
                checked={unsubscribed.includes(address)}
                onChange={() =>
                  setUnsubscribed(
                    unsubscribed.includes(address)
                      ? unsubscribed.filter((one) => one !== address)
                      : [...unsubscribed, address],
                  )
                }
              />
            ))}
          </fieldset>
        ) : null}
        <ErrorNote error={update.error} fields={['threshold', 'window', 'minimum', 'recipients']} />
        <DialogFooter onClose={onClose} busy={update.isPending}>
          Save
        </DialogFooter>
      </form>
    </Dialog>
  );
}

function recipientsHint({ unconfirmed }: AlertRule): string {
  const hint = 'Email addresses, one per line. Addresses of non-members must confirm first.';
  return unconfirmed.length > 0 ? `${hint} Not confirmed: ${unconfirmed.join(', ')}.` : hint;
}
