import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { findKey, present } from './find-key.ts';

/** Revokes a key. Responds once every gateway rejects the key. */
export const revokeKey = tenantEndpoint({
  access: 'keys:write',
  method: 'post',
  path: '/keys/{id}/revoke',
  async handle(call) {
    const { id } = await findKey(call);
    const { workspaceId } = call.tenant;
    const { key } = await call.backend.keys.revokeKey({ workspaceId, id }, { context: call.context });
    return keyDocument(present(key));
  },
});
