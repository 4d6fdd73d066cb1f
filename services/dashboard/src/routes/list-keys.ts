import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';

/** All of them, newest first. */
export const listKeys = tenantEndpoint({
  access: 'keys.read',
  method: 'get',
  path: '/keys',
  async handle({ backend, tenant, context, signal }) {
    const { keys } = await backend.keys.listKeys(tenant, { context, signal: signal() });
    return { data: keys.map((key) => keyDocument(key)).sort((a, b) => (a.id < b.id ? 1 : -1)) };
  },
});
