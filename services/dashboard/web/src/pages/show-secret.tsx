import type { NewSecretDocument } from '../../../src/documents/webhook.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock, Secret } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Note } from '../ui/notes.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { verificationCode } from './verification-code.ts';

/** The secret of a webhook, shown this once, and what to do with it. */
export function ShowSecretDialog({
  made,
  onClose,
}: {
  readonly made: NewSecretDocument;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Signing secret" onClose={onClose} closable={false}>
      <Note tone="warn">Copy the secret now. It is shown this once; what is lost has to be rotated.</Note>
      <Secret text={made.secret} label="Copy secret" />
      <p className="small">Check with it that a delivery is ours:</p>
      <VerificationCode />
      <div className="row row-end">
        <Button look="main" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </Dialog>
  );
}

export function VerificationCode() {
  return (
    <Tabs
      label="Verification code"
      of={Object.entries(verificationCode).map(([language, text]) => [
        language,
        <CodeBlock key={language} text={text} label={`Verification in ${language}`} />,
      ])}
    />
  );
}
