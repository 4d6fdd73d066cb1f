import { useState } from 'react';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

const copiedMs = 2_000;

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
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), copiedMs);
  };
  return (
    <Button small={small} variant={plain ? 'plain' : 'normal'} onClick={() => void copy()} aria-live="polite">
      <Icon name={copied ? 'check' : 'copy'} />
      <span className={plain ? 'visually-hidden' : undefined}>{copied ? 'Copied' : label}</span>
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
