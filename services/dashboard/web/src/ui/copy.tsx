import { useState } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

const saidMs = 2_000;

/** Puts a text on the clipboard and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  small = true,
  plain = false,
}: {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
  /** Only its icon is seen: for a place right beside the text. */
  readonly plain?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), saidMs);
  };
  return (
    <Button small={small} look={plain ? 'plain' : 'normal'} onClick={() => void copy()} aria-live="polite">
      <Icon name={copied ? 'check' : 'copy'} />
      <span className={plain ? 'visually-hidden' : undefined}>{copied ? 'Copied' : label}</span>
    </Button>
  );
}

/** An id, and a button that copies it. */
export function CopyableId({ id }: { readonly id: string }) {
  return (
    <span className="copyable">
      <code>{id}</code>
      <CopyButton text={id} label="Copy id" plain />
    </span>
  );
}

/** Something that is shown once. */
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
