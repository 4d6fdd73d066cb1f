import type { NewAuditEntry } from './audit-log.ts';

/**
 * Returns the entry of an operator who starts to re-encrypt a service's secrets.
 * @param keyId ID of the current key, the prefix of everything that is encrypted with it
 */
export function reencryptionStarted(service: 'auth' | 'webhooks' | 'alerts', keyId: string): NewAuditEntry {
  const target = { id: '', name: service };
  return { workspaceId: '', target, action: 'secrets.reencryption_started', details: { current: keyId } };
}
