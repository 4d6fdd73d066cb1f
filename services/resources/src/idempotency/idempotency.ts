import { createHash } from 'node:crypto';
import { canonicalMetadata, type InputType } from '../resource/resource.ts';

/**
 * Hashes the content of a create request, independent of the order of its metadata keys. Requests that share an
 * idempotency key must have the same fingerprint.
 */
export function fingerprintOf(input: { name: string; inputType: InputType; metadataJson: string }): Buffer {
  const canonical = JSON.stringify([input.name, input.inputType, canonicalMetadata(input.metadataJson)]);
  return createHash('sha256').update(canonical).digest();
}
