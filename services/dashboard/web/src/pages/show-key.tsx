import type { NewKeyDocument } from '../../../src/documents/key.ts';
import { useAccount } from '../api/account.ts';
import { useTenant } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock, Secret } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Note } from '../ui/notes.tsx';

/** The value of a new key, shown this once. */
export function ShowKeyDialog({ made, onClose }: { readonly made: NewKeyDocument; readonly onClose: () => void }) {
  const { environment } = useTenant();
  const { api_urls: urls } = useAccount();
  return (
    <Dialog title={`Key “${made.key.name}”`} onClose={onClose} closable={false}>
      <Note tone="warn">Copy the key now. It is shown this once; what is lost has to be rolled.</Note>
      <Secret text={made.value} label="Copy key" />
      <p className="small">Try it:</p>
      <CodeBlock
        label="Example"
        text={`curl -s ${urls[environment]}/v1/resources \\\n  -H "Authorization: Bearer ${made.value}"`}
      />
      <div className="row row-end">
        <Button look="main" onClick={onClose}>
          I have kept it
        </Button>
      </div>
    </Dialog>
  );
}
