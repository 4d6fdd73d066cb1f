export { createReencryption, type SealedStore } from './reencryption.ts';
