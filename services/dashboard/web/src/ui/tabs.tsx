import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';

/** Tabs with arrow key navigation. */
export function Tabs({
  label,
  of,
}: {
  readonly label: string;
  readonly of: readonly (readonly [title: string, content: ReactNode])[];
}) {
  const id = useId();
  const [index, setIndex] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const next = (index + step + of.length) % of.length;
    setIndex(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  };
  return (
    <div className="stack-small">
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {of.map(([title], i) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`${id}-tab-${i}`}
            aria-selected={i === index}
            aria-controls={`${id}-panel`}
            tabIndex={i === index ? 0 : -1}
            onClick={() => setIndex(i)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${index}`}>
        {of[index]?.[1]}
      </div>
    </div>
  );
}
