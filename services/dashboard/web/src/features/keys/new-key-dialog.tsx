import type { Key, NewKey } from '@rms/api';
import {
  keyPermissions,
  keyScopes,
  leastRoleFor,
  may,
  type Permission,
  permissionsToCreateKey,
  permits,
  permitsOfScope,
} from '@rms/base/roles';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useRole, useTenantChange } from '../../api/tenant.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Choice, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { keyCountText, keyLimitHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { expiryOptions, useExpiryAt } from './expiry.ts';

type ScopeName = Key['scope'];

/** Returns what a scope permits, exactly. */
function hintOf(scope: ScopeName): string {
  if (scope === 'restricted') return 'Only the permissions that you select';
  const added = permitsOfScope(scope).join('; ');
  return scope === 'read' ? sentence(added) : `Also: ${added}`;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function NewKeyDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (created: NewKey) => void;
}) {
  const expiryAt = useExpiryAt();
  const [scope, setScope] = useState<ScopeName>('read');
  const create = useTenantChange<One<NewKey>>(({ data }) => onCreated(data));
  const { data: limits } = useLimits();
  const role = useRole();
  /** Returns the hint for a choice, with the role that its permissions require, if the user lacks one. */
  const choice = (required: readonly Permission[], hint: string) => {
    const missing = required.find((permission) => !may(role, permission));
    return {
      hint: missing ? `${hint}. Requires the role ${leastRoleFor(missing)}.` : hint,
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
          create.mutate({
            method: 'POST',
            path: '/api_keys',
            body: {
              name: text('name'),
              scope,
              permissions: form.getAll('permissions').map(String),
              expires_at: expiryAt(text('days')),
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
          {keyScopes.map((value) => (
            <Choice
              key={value}
              type="radio"
              name="scope"
              value={value}
              label={value}
              {...choice(permissionsToCreateKey({ scope: value, permissions: [] }), hintOf(value))}
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
                {...choice([permission], sentence(permits(permission)))}
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
