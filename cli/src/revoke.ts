import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { fromStatusMessage } from '@rms/rpc';
import { inBatches } from './batches.ts';
import type { Services } from './connect.ts';

export interface Revocation {
  readonly revoked: readonly Key[];
  readonly failed: readonly { readonly id: string; readonly error: string }[];
}

/** Revokes keys, each with an outcome of its own. */
export async function revokeKeys(
  { keys }: Services,
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

/** Says which keys could not be revoked, if there are any. */
export function failUnlessAll({ failed }: Revocation): void {
  if (failed.length > 0) throw new Error(failed.map(({ error }) => error).join(' '));
}
