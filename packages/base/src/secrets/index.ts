export { type KeyRing, type Keys, readKeyRing } from './key-ring.ts';
export { type Resealed, reseal } from './reseal.ts';
export { createSecretBox, type SealContext, type SecretBox, SecretBoxError } from './secret-box.ts';
export { openToken, signToken } from './signed-token.ts';
