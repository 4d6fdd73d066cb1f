import type { ReactNode } from 'react';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly number?: boolean;
}

/** Rows under headings; on a narrow screen each row is a card with the headings in it. */
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
  readonly select?: { readonly chosen: ReadonlySet<string>; readonly onChange: (chosen: ReadonlySet<string>) => void };
}) {
  const keys = rows.map(keyOf);
  const toggle = (key: string) => {
    const next = new Set(select?.chosen);
    if (!next.delete(key)) next.add(key);
    select?.onChange(next);
  };
  const allChosen = keys.length > 0 && keys.every((key) => select?.chosen.has(key));
  return (
    <table className="table table-cards" aria-label={label}>
      <thead>
        <tr>
          {select ? (
            <th className="check" scope="col">
              <input
                type="checkbox"
                aria-label="Select all"
                checked={allChosen}
                onChange={() => select.onChange(new Set(allChosen ? [] : keys))}
              />
            </th>
          ) : null}
          {columns.map(({ title, number }) => (
            <th key={title} scope="col" className={number ? 'number' : undefined}>
              {title === '' ? <span className="visually-hidden">Actions</span> : title}
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
                    aria-label={`Select ${key}`}
                    checked={select.chosen.has(key)}
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
