export { generateApiKey, hashOfApiKey, hintOfApiKey, isWellFormedApiKey, type KeyEnvironment } from './api-key.ts';
