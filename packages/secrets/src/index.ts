export { deriveKey } from './derive-key.ts';
export { createSecretBox, type SecretBox, SecretBoxError } from './secret-box.ts';
