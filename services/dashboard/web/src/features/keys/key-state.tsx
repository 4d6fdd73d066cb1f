import { Link } from '@tanstack/react-router';
import type { KeyDocument, KeyState } from '../../../../src/documents/key.ts';
import { useTenant } from '../../api/tenant.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { visibleName } from '../../ui/names.ts';

const states: Readonly<Record<KeyState, readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  rolled: ['warn', 'Rolled'],
  ended: ['plain', 'Replaced'],
  expired: ['plain', 'Expired'],
  revoked: ['bad', 'Revoked'],
};

export function KeyStateBadge({ of }: { readonly of: Pick<KeyDocument, 'state'> }) {
  const [tone, text] = states[of.state];
  return <Badge tone={tone}>{text}</Badge>;
}

/** Name of the key, linked to its page. */
export function KeyLink({ of: key }: { readonly of: Pick<KeyDocument, 'id' | 'name'> }) {
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
export function CreatorName({ of: key }: { readonly of: Pick<KeyDocument, 'created_by' | 'created_by_name'> }) {
  const unknown = key.created_by?.startsWith('user:') ? 'Deleted user' : (key.created_by ?? 'Unknown');
  return (
    <span className="break" title={key.created_by ?? undefined}>
      {key.created_by_name ?? unknown}
    </span>
  );
}

/** Returns whether the API accepts the key. */
export function isValid({ state }: Pick<KeyDocument, 'state'>): boolean {
  return state === 'active' || state === 'rolled';
}

/** Returns when the key becomes invalid. null: never. */
export function expiryOf({ expires_at: expires, ends_at: rolled }: Pick<KeyDocument, 'expires_at' | 'ends_at'>) {
  const ends = [expires, rolled].filter((at) => at !== null).sort();
  return ends[0] ?? null;
}

/** Returns the last recorded use's time. null: none. */
export function lastUseOf({ uses }: KeyDocument): string | null {
  return uses[0]?.last_used_at ?? null;
}
