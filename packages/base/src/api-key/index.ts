export {
  environmentOfApiKey,
  generateApiKey,
  hashOfApiKey,
  hintOfApiKey,
  isWellFormedApiKey,
  keyPrefixes,
} from './api-key.ts';
export { maxRequestLimit, maxRollOverlapSeconds } from './limits.ts';
