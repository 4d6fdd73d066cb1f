import type { Key, Member } from '@rms/api';
import { useState } from 'react';
import { useMay, useTenantChange, useTenantQuery } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Choice } from '../../ui/field.tsx';
import { ErrorNote, Loading } from '../../ui/notes.tsx';

/** Confirms a member's removal. Shows the keys that the member created, and offers to revoke them. */
export function RemoveMemberDialog({
  member,
  isSelf,
  onClose,
}: {
  readonly member: Member;
  readonly isSelf: boolean;
  readonly onClose: () => void;
}) {
  const mayRead = useMay('keys:read');
  const mayRevoke = useMay('keys:write');
  const { data, error } = useTenantQuery<{ data: readonly Key[]; more: boolean }>(`/members/${member.id}/keys`, {
    enabled: mayRead,
  });
  const [revokes, setRevokes] = useState(false);
  const remove = useTenantChange(() => {
    onClose();
    toast(revokes ? 'Member removed and keys revoked.' : 'Member removed.');
  });
  const keys = data?.data ?? [];
  return (
    <Confirm
      title={isSelf ? 'Leave this workspace?' : `Remove ${member.email}?`}
      action={isSelf ? 'Leave' : 'Remove'}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate({ method: 'DELETE', path: `/members/${member.id}?revoke_keys=${String(revokes)}` })
      }
    >
      <p>Access to this workspace ends immediately. Keys that the member created stay valid unless you revoke them.</p>
      <ErrorNote error={error} />
      {mayRead && !data && !error ? <Loading label="Loading keys" rows={2} /> : null}
      {keys.length > 0 ? (
        <>
          <p>Keys that the member created:</p>
          <ul>
            {keys.map(({ id, name, hint, environment }) => (
              <li key={id} className="break">
                {name} <code>{hint}</code> ({environment})
              </li>
            ))}
            {data?.more ? <li>and more</li> : null}
          </ul>
          {mayRevoke ? (
            <Choice
              type="checkbox"
              label="Revoke these keys"
              hint="Requests with them fail immediately."
              checked={revokes}
              onChange={(event) => setRevokes(event.target.checked)}
            />
          ) : null}
        </>
      ) : null}
    </Confirm>
  );
}
