import { type MouseEvent, useState } from 'react';
import { copyText } from '../browser/copy-text.ts';
import { uiTexts } from '../texts/ui.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';

const shownMs = 2_000;

/** Button that copies a text to the clipboard. */
export function CopyButton({
  text,
  label = uiTexts().copy,
  small = true,
  plain = false,
}: {
  readonly text: string;
  readonly label?: string;
  readonly small?: boolean;
  /** Shows only the icon. For use directly next to the text. */
  readonly plain?: boolean;
}) {
  const texts = uiTexts();
  const [isCopied, setCopied] = useState<boolean>();
  const copy = async ({ currentTarget }: MouseEvent) => {
    setCopied(await copyText(text, currentTarget));
    setTimeout(() => setCopied(undefined), shownMs);
  };
  return (
    <Button small={small} variant={plain ? 'plain' : 'normal'} onClick={(event) => void copy(event)} aria-live="polite">
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span className={plain ? 'visually-hidden' : undefined}>
        {isCopied === undefined ? label : isCopied ? texts.copied : texts.notCopied}
      </span>
    </Button>
  );
}

/** ID with a copy button. */
export function CopyableId({ id }: { readonly id: string }) {
  return (
    <span className="copyable">
      <code translate="no">{id}</code>
      <CopyButton text={id} label={uiTexts().copyId} plain />
    </span>
  );
}

/** Secret that is shown only once. */
export function Secret({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="secret">
      <code translate="no">{text}</code>
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
      <pre tabIndex={0} translate="no">
        {text}
      </pre>
    </div>
  );
}
