import { RmsError } from '@rms/errors';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { Caller } from './principals.ts';

/** What an endpoint asks for. Scopes nest: admin may do what write may, write what read may. */
export type RequiredScope = 'read' | 'write' | 'admin';

const ranks = { read: Scope.READ, write: Scope.WRITE, admin: Scope.ADMIN } as const;

export function checkScope({ principal }: Caller, required: RequiredScope): void {
  if (principal.scope < ranks[required]) throw new RmsError('insufficient_scope');
}
