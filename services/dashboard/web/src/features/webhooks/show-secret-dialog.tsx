import type { RotatedSecret } from '@rms/api';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, Secret } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Note } from '../../ui/notes.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { verificationCode } from './verification-code.ts';

/** Dialog that shows a webhook's secret, once, with verification code. */
export function ShowSecretDialog({
  created,
  onClose,
}: {
  readonly created: Pick<RotatedSecret, 'secret'>;
  readonly onClose: () => void;
}) {
  const texts = webhookTexts();
  return (
    <Dialog title={texts.secret} onClose={onClose} closable={false}>
      <Note tone="warn">{texts.secretOnce}</Note>
      <Secret text={created.secret ?? ''} label={texts.copySecret} />
      <p className="small">{texts.secretUse}</p>
      <VerificationCode />
      <div className="row row-end">
        <Button variant="main" onClick={onClose}>
          {texts.secretSaved}
        </Button>
      </div>
    </Dialog>
  );
}

export function VerificationCode() {
  const texts = webhookTexts();
  return (
    <Tabs
      label={texts.verificationCode}
      of={verificationCode.map(({ language, samples }) => [
        language,
        <div key={language} className="stack-small">
          {samples.map(([kind, name, text]) => (
            <CodeBlock key={name} text={text} label={texts.samples[kind](name)} />
          ))}
        </div>,
      ])}
    />
  );
}
