import { type KeyGrant, type KeyPermission, keyPermissions, type Scope as ScopeName } from '@rms/base/roles';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type EnumNames, enumNames } from './enum-names.ts';

const scopes: EnumNames<ScopeName, Scope> = enumNames(Scope);

/** What an API key may do, as in Key, Principal and CreateKeyRequest. */
export interface KeyGrantMessage {
  readonly scope: Scope;
  readonly permissions: string[];
}

/** Unknown permissions, which a later release may have stored, grant nothing. */
export function fromKeyGrantMessage({ scope, permissions }: KeyGrantMessage): KeyGrant {
  const name = scopes.toName(scope);
  return name ? { scope: name, permissions: [] } : { scope: 'restricted', permissions: permissions.filter(isKnown) };
}

export function toKeyGrantMessage({ scope, permissions }: KeyGrant): KeyGrantMessage {
  return { scope: scope === 'restricted' ? Scope.UNSPECIFIED : scopes.toValue(scope), permissions: [...permissions] };
}

function isKnown(name: string): name is KeyPermission {
  return (keyPermissions as readonly string[]).includes(name);
}
