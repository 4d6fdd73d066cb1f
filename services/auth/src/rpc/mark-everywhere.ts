import { RmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';

/**
 * Sets the mark at which every gateway drops what it has cached of a key and asks auth again, at each request.
 * `failure`: what the caller reads, as 503, if that can't be done.
 */
export async function markEverywhere(
  limiter: Pick<Limiter, 'markRevoked'>,
  key: { workspaceId: string; id: string },
  failure: string,
): Promise<void> {
  try {
    await limiter.markRevoked([{ workspaceId: key.workspaceId, keyId: key.id }]);
  } catch (cause) {
    throw new RmsError('service_unavailable', { message: failure, cause });
  }
}
