import type { RequiredScope } from '@rms/api';
import { RmsError } from '@rms/base/errors';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { Caller } from './principals.ts';

/** A higher Scope value includes the lower ones. */
const scopes: EnumNames<RequiredScope, Scope> = enumNames(Scope);

/** Returns whether a key with a scope may use endpoints that require another one. */
export function mayUse(granted: Scope, required: RequiredScope): boolean {
  return granted >= scopes.toValue(required);
}

/** Returns the error for a key without the required scope. It names both scopes. */
export function checkScope({ principal }: Caller, required: RequiredScope): RmsError | undefined {
  if (mayUse(principal.scope, required)) return undefined;
  const granted = scopes.toName(principal.scope) ?? 'no scope';
  const message = `Scope \`${required}\` is required; this key has \`${granted}\`.`;
  return new RmsError('insufficient_scope', { message });
}
