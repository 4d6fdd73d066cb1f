import { maxRollOverlapSeconds } from '@rms/base/api-key';
import { durationFromMs } from '@rms/rpc';
import { z } from 'zod';
import { keyDocument, type NewKeyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { findKey, present } from './find-key.ts';

export const rollKey = tenantEndpoint({
  access: 'keys:write',
  method: 'post',
  path: '/keys/{id}/roll',
  body: z.strictObject({ overlap_seconds: z.int().min(0).max(maxRollOverlapSeconds) }),
  async handle(call): Promise<NewKeyDocument> {
    const { id } = await findKey(call);
    const { key, keyValue } = await call.backend.keys.rollKey(
      {
        ...call.tenant,
        id,
        idempotencyKey: call.idempotencyKey,
        overlap: durationFromMs(call.body.overlap_seconds * 1000),
      },
      { context: call.context },
    );
    return { key: keyDocument(present(key)), value: keyValue };
  },
});
