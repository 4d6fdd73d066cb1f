/** A field's value. null: the field is not set, or the object does not exist. */
export type FieldValue = string | number | boolean | null | readonly string[];

/** A changed field. Values that must not be stored are {@link secretValue}. */
export interface FieldChange {
  /** In snake case, "metadata.team" for part of a field. */
  readonly field: string;
  readonly before: FieldValue;
  readonly after: FieldValue;
}

/** Stands for a secret, as in log lines. */
export const secretValue = '[secret]';
