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
