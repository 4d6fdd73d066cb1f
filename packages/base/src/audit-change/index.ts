export { changedValueText, changeText, namedText } from './change-text.ts';
export { type FieldChange, type FieldValue, secretValue } from './field-change.ts';
