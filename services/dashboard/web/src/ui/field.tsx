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
  /** What is wrong with what was entered. */
  readonly wrong?: string | undefined;
}

interface Described {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** A label, what it is about, and what is wrong with it, bound together for those who do not see them side by side. */
function Field({ label, hint, wrong, children }: Common & { readonly children: (described: Described) => ReactNode }) {
  const id = useId();
  const hintId = hint ? `${id}-hint` : '';
  const wrongId = wrong ? `${id}-wrong` : '';
  const describedBy = [hintId, wrongId].filter((part) => part !== '').join(' ') || undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': describedBy, 'aria-invalid': wrong ? true : undefined })}
      {hint ? (
        <p className="hint" id={hintId}>
          {hint}
        </p>
      ) : null}
      {wrong ? (
        <p className="wrong" id={wrongId}>
          {wrong}
        </p>
      ) : null}
    </div>
  );
}

export function TextField({
  label,
  hint,
  wrong,
  className = '',
  ...input
}: Common & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(described) => <input {...described} {...input} className={`input ${className}`} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  wrong,
  className = '',
  ...area
}: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(described) => <textarea {...described} {...area} className={`input ${className}`} />}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  wrong,
  options,
  ...select
}: Common &
  SelectHTMLAttributes<HTMLSelectElement> & { readonly options: readonly (readonly [value: string, text: string])[] }) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
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

/** A box or a circle with its text, and a line that explains it. */
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
