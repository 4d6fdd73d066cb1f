export {
  leastRoleFor,
  may,
  mayChangeRole,
  type Permission,
  permissions,
  permissionsOf,
  permissionToCreateKey,
  type Role,
  roles,
} from './roles.ts';
