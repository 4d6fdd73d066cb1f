export { createIds, firstId, type IdPrefix, type Ids, idTime, isId, newId } from './ids.ts';
