import type { Webhook } from '@rms/api';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { Choice, TextField } from '../../ui/field.tsx';

/** A custom header in a form. */
export interface HeaderRow {
  /** Identifies the row in the form. */
  readonly key: number;
  readonly name: string;
  readonly value: string;
  readonly isSecret: boolean;
  /** Whether the service has a value for it that it does not return. */
  readonly isStored: boolean;
}

const maxHeaders = 20;

/** Returns the rows for a webhook's headers. */
export function headerRowsOf({ headers, secret_headers: secret }: Pick<Webhook, 'headers' | 'secret_headers'>) {
  const shown = Object.entries(headers).map(([name, value]) => ({ name, value, isSecret: false, isStored: false }));
  const hidden = secret.map((name) => ({ name, value: '', isSecret: true, isStored: true }));
  return [...shown, ...hidden].map((row, key): HeaderRow => ({ ...row, key }));
}

/** Returns a request's fields. A stored secret value without a new one is kept. */
export function headersOf(rows: readonly HeaderRow[]): Pick<Webhook, 'headers' | 'secret_headers'> {
  const named = rows.map((row) => ({ ...row, name: row.name.trim() })).filter(({ name }) => name !== '');
  const given = named.filter(({ isStored, value }) => !isStored || value !== '');
  return {
    headers: Object.fromEntries(given.map(({ name, value }) => [name, value])),
    secret_headers: named.filter(({ isSecret }) => isSecret).map(({ name }) => name),
  };
}

/** Inputs for the custom headers of a webhook. */
export function HeaderFields({
  rows,
  onChange,
  error,
}: {
  readonly rows: readonly HeaderRow[];
  readonly onChange: (rows: readonly HeaderRow[]) => void;
  readonly error: string | undefined;
}) {
  const texts = webhookTexts();
  const change = (key: number, part: Partial<HeaderRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...part } : row)));
  const add = () => {
    const key = 1 + Math.max(0, ...rows.map((row) => row.key));
    onChange([...rows, { key, name: '', value: '', isSecret: false, isStored: false }]);
  };
  return (
    <fieldset className="choices">
      <legend>{texts.headers}</legend>
      {rows.map(({ key, name, value, isSecret, isStored }, index) => (
        <div className="form-grid" key={key}>
          <TextField
            label={texts.header.name(index + 1)}
            value={name}
            maxLength={100}
            readOnly={isStored}
            onChange={(event) => change(key, { name: event.target.value })}
          />
          <TextField
            label={texts.header.value(index + 1)}
            value={value}
            maxLength={500}
            type={isSecret ? 'password' : 'text'}
            autoComplete="off"
            placeholder={isStored ? texts.headerUnchanged : ''}
            onChange={(event) => change(key, { value: event.target.value })}
          />
          <Choice
            type="checkbox"
            label={texts.header.isSecret(index + 1)}
            checked={isSecret}
            disabled={isStored}
            onChange={() => change(key, { isSecret: !isSecret })}
          />
          <div>
            <Button small onClick={() => onChange(rows.filter((row) => row.key !== key))}>
              {texts.header.remove(index + 1)}
            </Button>
          </div>
        </div>
      ))}
      <div className="row">
        <Button small onClick={add} disabled={rows.length >= maxHeaders}>
          {texts.addHeader}
        </Button>
      </div>
      <p className="hint">{texts.headersHint}</p>
      {error ? <p className="field-error">{error}</p> : null}
    </fieldset>
  );
}
