import type { Key, NewKey } from '@rms/api';
import { keyPermissions, leastRoleFor, may, type Permission, permissionsToCreateKey } from '@rms/base/roles';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useRole, useTenantChange } from '../../api/tenant.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Choice, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { keyCountText, keyLimitHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';

type ScopeName = Key['scope'];

const scopes: readonly (readonly [ScopeName, string])[] = [
  ['read', 'Read resources and the event feed'],
  ['write', 'Also create, change and delete resources'],
  [
    'admin',
    'Also manage webhooks, deliveries and API keys, and read the workspace, the request log and the audit log with sign-ins and members',
  ],
  ['restricted', 'Only the permissions that you select'],
];
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const expiryOptions: readonly (readonly [string, string])[] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
];

export function NewKeyDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (created: NewKey) => void;
}) {
  // A repetition must have the same content, so the expiry does not depend on when the button is pressed.
  const [openedAtMs] = useState(() => Math.ceil(Date.now() / hourMs) * hourMs);
  const [scope, setScope] = useState<ScopeName>('read');
  const create = useTenantChange<One<NewKey>>(({ data }) => onCreated(data));
  const { data: limits } = useLimits();
  const role = useRole();
  /** Returns the hint for a choice, with the role that its permissions require, if the user lacks one. */
  const choice = (required: readonly Permission[], hint = '') => {
    const missing = required.find((permission) => !may(role, permission));
    return {
      hint: missing ? `${hint ? `${hint}. ` : ''}Requires the role ${leastRoleFor(missing)}.` : hint,
      disabled: missing !== undefined,
    };
  };
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? '').trim();
          const days = Number(text('days'));
          create.mutate({
            method: 'POST',
            path: '/api_keys',
            body: {
              name: text('name'),
              scope,
              permissions: form.getAll('permissions').map(String),
              expires_at: days > 0 ? new Date(openedAtMs + days * dayMs).toISOString() : null,
              allowed_ips: linesOf(text('allowed_ips')),
              rate_limit: text('rate_limit') === '' ? null : Number(text('rate_limit')),
            },
          });
        }}
      >
        <TextField
          label="Name"
          name="name"
          hint={`Purpose of the key. ${keyCountText(limits)}`}
          maxLength={100}
          error={fieldError(create.error, 'name')}
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
              {...choice(permissionsToCreateKey({ scope: value, permissions: [] }), hint)}
              checked={scope === value}
              onChange={() => setScope(value)}
            />
          ))}
        </fieldset>
        {scope === 'restricted' ? (
          <fieldset className="choices">
            <legend>Permissions</legend>
            {keyPermissions.map((permission) => (
              <Choice
                key={permission}
                type="checkbox"
                name="permissions"
                value={permission}
                label={permission}
                {...choice([permission])}
              />
            ))}
          </fieldset>
        ) : null}
        <div className="form-grid">
          <SelectField
            label="Expires"
            name="days"
            options={expiryOptions}
            error={fieldError(create.error, 'expires_at')}
          />
          <TextField
            label="Requests per window"
            name="rate_limit"
            type="number"
            min={1}
            max={limits?.limits.requests_per_window ?? undefined}
            hint={keyLimitHint(limits)}
            error={fieldError(create.error, 'rate_limit')}
          />
        </div>
        <TextArea
          label="Allowed IP addresses"
          name="allowed_ips"
          rows={3}
          className="input-code"
          placeholder="203.0.113.0/24"
          hint="IP addresses or CIDR ranges, one per line. Leave empty to allow any address."
          error={fieldError(create.error, 'allowed_ips') ?? fieldError(create.error, 'allowed_ips.0')}
        />
        <ErrorNote error={create.error} fields={['name', 'allowed_ips', 'allowed_ips.0', 'expires_at', 'rate_limit']} />
        <DialogFooter onClose={onClose} busy={create.isPending}>
          Create key
        </DialogFooter>
      </form>
    </Dialog>
  );
}
