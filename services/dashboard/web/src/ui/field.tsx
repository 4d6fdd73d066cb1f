import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';

interface Common {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Validation error. */
  readonly error?: string | undefined;
}

interface Described {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** Label, input, hint and error, associated for assistive technology. */
function Field({ label, hint, error, children }: Common & { readonly children: (described: Described) => ReactNode }) {
  const id = useId();
  const hintId = hint ? `${id}-hint` : '';
  const errorId = error ? `${id}-error` : '';
  const describedBy = [hintId, errorId].filter((part) => part !== '').join(' ') || undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': describedBy, 'aria-invalid': error ? true : undefined })}
      {hint ? (
        <p className="hint" id={hintId}>
          {hint}
        </p>
      ) : null}
      {error ? (
        <p className="field-error" id={errorId}>
          {error}
        </p>
      ) : null}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  className = '',
  ...input
}: Common & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => <input {...described} {...input} className={`input ${className}`} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  error,
  className = '',
  ...area
}: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => <textarea {...described} {...area} className={`input ${className}`} />}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  error,
  options,
  ...select
}: Common &
  SelectHTMLAttributes<HTMLSelectElement> & { readonly options: readonly (readonly [value: string, text: string])[] }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(described) => (
        <select {...described} {...select} className="input">
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Checkbox or radio button with a label and a hint. */
export function Choice({
  label,
  hint,
  ...input
}: { readonly label: ReactNode; readonly hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="choice">
      <input {...input} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint ? (
          <p className="soft small" id={`${id}-hint`}>
            {hint}
          </p>
        ) : null}
      </div>
    </div>
  );
}
