export {
  type Environment,
  environmentOf,
  environments,
  fromEnvironmentMessage,
  type Tenant,
  type TenantScope,
  toEnvironmentMessage,
  toEnvironments,
  toScope,
  toTenant,
} from './tenant.ts';
export { WorkspaceCache, type WorkspaceCacheOptions } from './workspace-cache.ts';
export { findInPages, type ProbedPage, workspaceFinder } from './workspace-finder.ts';
