export { deriveKey, deriveKeys, type KeyRing, readKeyRing } from './derive-key.ts';
export { createSecretBox, type SecretBox, SecretBoxError } from './secret-box.ts';
export { openToken, signToken } from './signed-token.ts';
