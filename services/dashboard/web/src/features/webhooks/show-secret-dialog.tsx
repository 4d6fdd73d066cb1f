import type { RotatedSecret } from '@rms/api';
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
  return (
    <Dialog title="Signing secret" onClose={onClose} closable={false}>
      <Note tone="warn">Copy the secret now. It is shown only once. If you lose it, rotate the secret.</Note>
      <Secret text={created.secret ?? ''} label="Copy secret" />
      <p className="small">Use it to verify the signature of each delivery:</p>
      <VerificationCode />
      <div className="row row-end">
        <Button variant="main" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </Dialog>
  );
}

export function VerificationCode() {
  return (
    <Tabs
      label="Verification code"
      of={verificationCode.map(({ language, samples }) => [
        language,
        <div key={language} className="stack-small">
          {Object.entries(samples).map(([title, text]) => (
            <CodeBlock key={title} text={text} label={title} />
          ))}
        </div>,
      ])}
    />
  );
}
