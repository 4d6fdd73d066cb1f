import { useState } from 'react';
import type { RuleDocument } from '../../../src/documents/alert.ts';
import { aboutField } from '../api/client.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { Choice, SelectField, TextArea, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { spanText } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { alertKinds } from './alert-kinds.ts';
import { linesOf } from './new-key.tsx';

const windows = [60, 300, 900, 1_800, 3_600, 21_600, 86_400];

export function RuleDialog({ of: rule, onClose }: { readonly of: RuleDocument; readonly onClose: () => void }) {
  const { title, threshold: unit, minimum } = alertKinds[rule.kind];
  const [toOwners, setToOwners] = useState(rule.to_owners);
  const [stillOut, setStillOut] = useState<readonly string[]>(rule.unsubscribed);
  const update = useTenantChange(() => {
    onClose();
    toast('The rule is changed.');
  });
  const { window_seconds: seconds } = rule;
  const choices = [...new Set([...windows, ...(seconds === null ? [] : [seconds])])].sort((a, b) => a - b);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const number = (name: string) => Number(given.get(name));
          update.mutate({
            method: 'PATCH',
            path: `/alerts/rules/${rule.kind}`,
            body: {
              ...(unit ? { threshold: number('threshold') / unit.times } : {}),
              ...(seconds === null ? {} : { window_seconds: number('window') }),
              ...(minimum ? { minimum: number('minimum') } : {}),
              recipients: linesOf(String(given.get('recipients'))),
              to_owners: toOwners,
              ...(stillOut.length === rule.unsubscribed.length ? {} : { unsubscribed: stillOut }),
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
              defaultValue={Number((rule.threshold * unit.times).toFixed(4))}
              wrong={aboutField(update.error, 'threshold')}
              required
            />
          ) : null}
          {seconds === null ? null : (
            <SelectField
              label="Within"
              name="window"
              defaultValue={String(seconds)}
              options={choices.map((choice) => [String(choice), spanText(choice)])}
              wrong={aboutField(update.error, 'window')}
            />
          )}
          {minimum ? (
            <TextField
              label={minimum}
              name="minimum"
              type="number"
              min={0}
              defaultValue={rule.minimum}
              wrong={aboutField(update.error, 'minimum')}
              required
            />
          ) : null}
        </div>
        <Choice
          type="checkbox"
          label="Mail the owners of the workspace"
          checked={toOwners}
          onChange={() => setToOwners(!toOwners)}
        />
        <TextArea
          label="Other recipients"
          name="recipients"
          rows={3}
          defaultValue={rule.recipients.join('\n')}
          hint="E-mail addresses, one a line."
          wrong={aboutField(update.error, 'recipients')}
        />
        {rule.unsubscribed.length > 0 ? (
          <fieldset className="choices">
            <legend>Have unsubscribed</legend>
            {rule.unsubscribed.map((address) => (
              <Choice
                key={address}
                type="checkbox"
                label={address}
                checked={stillOut.includes(address)}
                onChange={() =>
                  setStillOut(
                    stillOut.includes(address) ? stillOut.filter((one) => one !== address) : [...stillOut, address],
                  )
                }
              />
            ))}
          </fieldset>
        ) : null}
        <ErrorNote error={update.error} fields={['threshold', 'window', 'minimum', 'recipients']} />
        <DialogFoot onClose={onClose} busy={update.isPending}>
          Save
        </DialogFoot>
      </form>
    </Dialog>
  );
}
