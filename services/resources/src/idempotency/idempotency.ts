import { createHash } from 'node:crypto';
import { canonicalMetadata, type InputType } from '../resource/resource.ts';

/** What a request says, whatever the order of its keys: two requests with one key must have the same. */
export function fingerprintOf(input: { name: string; inputType: InputType; metadataJson: string }): Buffer {
  const canonical = JSON.stringify([input.name, input.inputType, canonicalMetadata(input.metadataJson)]);
  return createHash('sha256').update(canonical).digest();
}
