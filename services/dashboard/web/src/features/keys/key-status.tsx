import type { Key } from '@rms/api';
import { isValidKey } from '@rms/api/rules';
import { Link } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { visibleName } from '../../ui/names.ts';

const statuses: Readonly<Record<Key['status'], readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  rolled: ['warn', 'Rolled'],
  expired: ['plain', 'Expired'],
  revoked: ['bad', 'Revoked'],
};

export function KeyStatusBadge({ of: key }: { readonly of: Key }) {
  const isReplaced = key.status === 'rolled' && !isValidKey(key);
  const [tone, text] = isReplaced ? (['plain', 'Replaced'] as const) : statuses[key.status];
  return <Badge tone={tone}>{text}</Badge>;
}

/** Name of the key, linked to its page. */
export function KeyLink({ of: key }: { readonly of: Pick<Key, 'id' | 'name'> }) {
  return (
    <Link
      to="/w/$workspace/$environment/settings/keys/$id"
      params={{ ...useTenant(), id: key.id }}
      className="main-link break"
    >
      {visibleName(key)}
    </Link>
  );
}

/** Name of the creator, with the ID as its title. */
export function CreatorName({ of: key }: { readonly of: Pick<Key, 'created_by' | 'created_by_name'> }) {
  const unknown = key.created_by?.startsWith('user:') ? 'Deleted user' : (key.created_by ?? 'Unknown');
  return (
    <span className="break" title={key.created_by ?? undefined}>
      {key.created_by_name ?? unknown}
    </span>
  );
}
