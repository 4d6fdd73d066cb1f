import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { findKey, present } from './find-key.ts';

/** Answers once no gateway lets the key in any more. */
export const revokeKey = tenantEndpoint({
  access: 'keys.write',
  method: 'post',
  path: '/keys/{id}/revoke',
  async handle(call) {
    const { id } = await findKey(call);
    const { workspaceId } = call.tenant;
    const { key } = await call.backend.keys.revokeKey({ workspaceId, id }, { context: call.context });
    return keyDocument(present(key));
  },
});
