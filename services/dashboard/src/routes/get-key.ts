import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { findKey } from './find-key.ts';

export const getKey = tenantEndpoint({
  access: 'keys:read',
  method: 'get',
  path: '/keys/{id}',
  async handle(call) {
    return keyDocument(await findKey(call));
  },
});
