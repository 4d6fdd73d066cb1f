export { createDatabaseHousekeeping } from './database-housekeeping.ts';
