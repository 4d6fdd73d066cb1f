export { firstId, type IdPrefix, idTime, isId, newId } from './ids.ts';
