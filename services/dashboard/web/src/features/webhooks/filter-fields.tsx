import type { Webhook } from '@rms/api';
import { type FilterCondition, type FilterOperator, filterOperators, isGroup } from '@rms/base/webhook-filter';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';

type Filter = NonNullable<Webhook['filter']>;

interface Row {
  readonly key: number;
  readonly field: string;
  readonly op: FilterOperator;
  /** For `in` and `not_in`: the values, one per line. */
  readonly value: string;
}

/** The filter in a form: conditions in one group, or JSON for a filter with further groups. */
export interface FilterForm {
  readonly kind: 'none' | 'all' | 'any' | 'json';
  readonly rows: readonly Row[];
  readonly json: string;
}

const newRow = (key: number): Row => ({ key, field: 'status', op: 'eq', value: '' });
const hasValue = (op: FilterOperator) => op !== 'exists' && op !== 'not_exists';
const isList = (op: FilterOperator) => op === 'in' || op === 'not_in';

/** Returns the form for a filter. */
export function filterFormOf(filter: Webhook['filter']): FilterForm {
  const json = filter ? JSON.stringify(filter, null, 2) : '';
  const elements = filter?.all ?? filter?.any ?? [];
  if (!filter) return { kind: 'none', rows: [newRow(0)], json };
  if (elements.some((element) => isGroup(element as FilterCondition))) return { kind: 'json', rows: [newRow(0)], json };
  const rows = (elements as FilterCondition[]).map(({ field, op, value = '' }, key) => {
    return { key, field, op, value: [value].flat().join('\n') };
  });
  return { kind: filter.all ? 'all' : 'any', rows, json };
}

/** Returns a request's filter; the text itself if it is not JSON, which the service refuses. */
export function filterOf({ kind, rows, json }: FilterForm): unknown {
  if (kind === 'none') return null;
  if (kind === 'json') {
    try {
      return JSON.parse(json) as Filter;
    } catch {
      return json;
    }
  }
  return {
    [kind]: rows.map(({ field, op, value }) => ({
      field: field.trim(),
      op,
      ...(hasValue(op) ? { value: isList(op) ? value.split('\n').filter((line) => line !== '') : value } : {}),
    })),
  };
}

/** Inputs for a webhook's filter. */
export function FilterFields({
  of: form,
  onChange,
  error,
}: {
  readonly of: FilterForm;
  readonly onChange: (form: FilterForm) => void;
  readonly error: string | undefined;
}) {
  const texts = webhookTexts();
  const { kind, rows, json } = form;
  const change = (key: number, part: Partial<Row>) =>
    onChange({ ...form, rows: rows.map((row) => (row.key === key ? { ...row, ...part } : row)) });
  return (
    <fieldset className="choices">
      <legend>{texts.filter}</legend>
      <SelectField
        label={texts.filterKind}
        value={kind}
        hint={texts.filterHint}
        options={Object.entries(texts.filterKinds)}
        onChange={(event) => onChange({ ...form, kind: event.target.value as FilterForm['kind'] })}
      />
      {kind === 'json' ? (
        <TextArea
          label={texts.filterJson}
          rows={8}
          value={json}
          spellCheck={false}
          hint={texts.filterJsonHint}
          onChange={(event) => onChange({ ...form, json: event.target.value })}
        />
      ) : null}
      {kind === 'all' || kind === 'any'
        ? rows.map(({ key, field, op, value }, index) => (
            <div className="form-grid" key={key}>
              <TextField
                label={texts.condition.field(index + 1)}
                value={field}
                hint={texts.fieldHint}
                onChange={(event) => change(key, { field: event.target.value })}
              />
              <SelectField
                label={texts.condition.operator(index + 1)}
                value={op}
                options={filterOperators.map((name) => [name, texts.operators[name]] as const)}
                onChange={(event) => change(key, { op: event.target.value as FilterOperator })}
              />
              {isList(op) ? (
                <TextArea
                  label={texts.condition.values(index + 1)}
                  rows={3}
                  value={value}
                  hint={texts.valuesHint}
                  onChange={(event) => change(key, { value: event.target.value })}
                />
              ) : hasValue(op) ? (
                <TextField
                  label={texts.condition.value(index + 1)}
                  value={value}
                  onChange={(event) => change(key, { value: event.target.value })}
                />
              ) : null}
              {rows.length > 1 ? (
                <div>
                  <Button small onClick={() => onChange({ ...form, rows: rows.filter((row) => row.key !== key) })}>
                    {texts.condition.remove(index + 1)}
                  </Button>
                </div>
              ) : null}
            </div>
          ))
        : null}
      {kind === 'all' || kind === 'any' ? (
        <div className="row">
          <Button
            small
            onClick={() => onChange({ ...form, rows: [...rows, newRow(1 + Math.max(...rows.map((row) => row.key)))] })}
          >
            {texts.addCondition}
          </Button>
        </div>
      ) : null}
      {error ? <p className="field-error">{error}</p> : null}
    </fieldset>
  );
}
