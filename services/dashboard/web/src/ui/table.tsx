import type { ReactNode } from 'react';
import { uiTexts } from '../texts/ui.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly number?: boolean;
}

/** Table. On narrow screens, each row becomes a card with the column titles in it. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
  select,
}: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly select?: {
    readonly selected: ReadonlySet<string>;
    readonly onChange: (selected: ReadonlySet<string>) => void;
  };
}) {
  const texts = uiTexts();
  const keys = rows.map(keyOf);
  const toggle = (key: string) => {
    const next = new Set(select?.selected);
    if (!next.delete(key)) next.add(key);
    select?.onChange(next);
  };
  const allSelected = keys.length > 0 && keys.every((key) => select?.selected.has(key));
  return (
    <table className="table table-cards" aria-label={label}>
      <thead>
        <tr>
          {select ? (
            <th className="check" scope="col">
              <input
                type="checkbox"
                aria-label={texts.selectAll}
                checked={allSelected}
                onChange={() => select.onChange(new Set(allSelected ? [] : keys))}
              />
            </th>
          ) : null}
          {columns.map(({ title, number }) => (
            <th key={title} scope="col" className={number ? 'number' : undefined}>
              {title === '' ? <span className="visually-hidden">{texts.actions}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            <tr key={key}>
              {select ? (
                <td className="check">
                  <input
                    type="checkbox"
                    aria-label={texts.select(key)}
                    checked={select.selected.has(key)}
                    onChange={() => toggle(key)}
                  />
                </td>
              ) : null}
              {columns.map(({ title, cell, number }) => (
                <td key={title} data-label={title || undefined} className={number ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
