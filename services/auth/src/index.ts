export { type AuthConfig, readAuthConfig } from './config.ts';
export { type AuthContext, createAuthContext } from './context.ts';
export { createAuth } from './service.ts';
