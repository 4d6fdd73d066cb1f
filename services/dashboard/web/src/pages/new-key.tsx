import { useState } from 'react';
import type { NewKeyDocument, ScopeName } from '../../../src/documents/key.ts';
import { aboutField } from '../api/client.ts';
import { useTenantChange } from '../api/tenant.ts';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { Choice, SelectField, TextArea, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';

const scopes: readonly (readonly [ScopeName, string])[] = [
  ['read', 'Reads resources'],
  ['write', 'Also creates, changes and deletes resources'],
  ['admin', 'Also manages webhooks'],
];
const dayMs = 86_400_000;
const lives: readonly (readonly [string, string])[] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
];

/** One entry on a line, or between commas. */
export function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

export function NewKeyDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (made: NewKeyDocument) => void;
}) {
  const [scope, setScope] = useState<ScopeName>('read');
  const create = useTenantChange<NewKeyDocument>(onMade);
  return (
    <Dialog title="Create an API key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const text = (name: string) => String(given.get(name) ?? '').trim();
          const days = Number(text('days'));
          create.mutate({
            method: 'POST',
            path: '/keys',
            body: {
              name: text('name'),
              scope,
              expires_at: days > 0 ? new Date(Date.now() + days * dayMs).toISOString() : null,
              allowed_ips: linesOf(text('allowed_ips')),
              rate_limit_requests: text('rate_limit') === '' ? null : Number(text('rate_limit')),
            },
          });
        }}
      >
        <TextField
          label="Name"
          name="name"
          hint="What it is for, as you will look for it."
          maxLength={100}
          wrong={aboutField(create.error, 'name')}
          required
        />
        <fieldset className="choices">
          <legend>Scope</legend>
          {scopes.map(([value, hint]) => (
            <Choice
              key={value}
              type="radio"
              name="scope"
              value={value}
              label={value}
              hint={hint}
              checked={scope === value}
              onChange={() => setScope(value)}
            />
          ))}
        </fieldset>
        <div className="form-grid">
          <SelectField label="Expires" name="days" options={lives} wrong={aboutField(create.error, 'expire_time')} />
          <TextField
            label="Requests in a window"
            name="rate_limit"
            type="number"
            min={0}
            placeholder="As the plan says"
            wrong={aboutField(create.error, 'rate_limit_requests')}
          />
        </div>
        <TextArea
          label="Allowed addresses"
          name="allowed_ips"
          rows={3}
          className="input-code"
          placeholder="203.0.113.0/24"
          hint="Addresses or networks, one a line. Empty: it works from anywhere."
          wrong={aboutField(create.error, 'allowed_ips') ?? aboutField(create.error, 'allowed_ips.0')}
        />
        <ErrorNote error={create.error} fields={['name', 'allowed_ips', 'allowed_ips.0', 'expire_time']} />
        <DialogFoot onClose={onClose} busy={create.isPending}>
          Create key
        </DialogFoot>
      </form>
    </Dialog>
  );
}
