export {
  createIds,
  firstId,
  type IdPrefix,
  type Ids,
  idExample,
  idPattern,
  idTime,
  isId,
  mustBeId,
  newId,
} from './ids.ts';
