import { RmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';

/**
 * Sets the mark at which every gateway drops what it has cached of a key and asks auth again. The change itself is
 * committed before, so a failure here is answered with 503 and mended by asking again.
 */
export async function markEverywhere(
  limiter: Pick<Limiter, 'markRevoked'>,
  key: { workspaceId: string; id: string },
): Promise<void> {
  try {
    await limiter.markRevoked([{ workspaceId: key.workspaceId, keyId: key.id }]);
  } catch (cause) {
    const message = 'The change is stored, but not yet confirmed at every gateway. Ask again to make sure.';
    throw new RmsError('service_unavailable', { message, cause });
  }
}
