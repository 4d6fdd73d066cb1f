import { type MouseEvent, useState } from 'react';
import { copyText } from '../browser.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

const shownMs = 2_000;

/** Button that copies a text to the clipboard. */
export function CopyButton({
  text,
  label = 'Copy',
  small = true,
  plain = false,
}: {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
  /** Shows only the icon. For use directly next to the text. */
  readonly plain?: boolean;
}) {
  const [outcome, setOutcome] = useState<'Copied' | 'Not copied'>();
  const copy = async ({ currentTarget }: MouseEvent) => {
    setOutcome((await copyText(text, currentTarget)) ? 'Copied' : 'Not copied');
    setTimeout(() => setOutcome(undefined), shownMs);
  };
  return (
    <Button small={small} variant={plain ? 'plain' : 'normal'} onClick={(event) => void copy(event)} aria-live="polite">
      <Icon name={outcome === 'Copied' ? 'check' : 'copy'} />
      <span className={plain ? 'visually-hidden' : undefined}>{outcome ?? label}</span>
    </Button>
  );
}

/** ID with a copy button. */
export function CopyableId({ id }: { readonly id: string }) {
  return (
    <span className="copyable">
      <code>{id}</code>
      <CopyButton text={id} label="Copy ID" plain />
    </span>
  );
}

/** Secret that is shown only once. */
export function Secret({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: no form
    <div className="code-block" role="group" aria-label={label}>
      <div className="code-head">
        <span>{label}</span>
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
