export { may, mayChangeRole, type Permission, permissions, permissionsOf, type Role, roles } from './roles.ts';
