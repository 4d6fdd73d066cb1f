import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { fromStatusMessage } from '@rms/rpc/errors';
import { inBatches } from './batches.ts';
import type { Services } from './services.ts';

export interface Revocation {
  readonly revoked: readonly Key[];
  readonly failed: readonly { readonly id: string; readonly error: string }[];
}

/** Revokes keys. A key that fails does not prevent the others. */
export async function revokeKeys(
  { keys }: Pick<Services, 'keys'>,
  refs: readonly { workspaceId: string; id: string }[],
): Promise<Revocation> {
  const revoked: Key[] = [];
  const failed: { id: string; error: string }[] = [];
  for (const requests of inBatches(refs)) {
    const { results } = await keys.batchRevokeKeys({ requests });
    for (const [i, { result }] of results.entries()) {
      if (result.case === 'key') revoked.push(result.value);
      else if (result.case === 'error') {
        failed.push({ id: requests[i]?.id ?? '', error: fromStatusMessage(result.value).message });
      }
    }
  }
  return { revoked, failed };
}

/** Throws an error that lists the keys that could not be revoked, if any. */
export function failUnlessAll({ failed }: Revocation): void {
  if (failed.length > 0) throw new Error(failed.map(({ error }) => error).join(' '));
}
