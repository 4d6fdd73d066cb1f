export { deriveKey, readMasterKey } from './derive-key.ts';
export { createSecretBox, type SecretBox, SecretBoxError } from './secret-box.ts';
export { openToken, signToken } from './signed-token.ts';
