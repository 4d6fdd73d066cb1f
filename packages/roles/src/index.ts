export {
  leastRoleFor,
  may,
  mayChangeRole,
  type Permission,
  permissions,
  permissionsOf,
  type Role,
  roles,
} from './roles.ts';
