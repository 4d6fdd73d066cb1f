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
export { findInPages, type ProbedPage, workspaceFinder } from './workspace-finder.ts';
