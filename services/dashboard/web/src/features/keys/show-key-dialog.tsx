import type { NewKey } from '@rms/api';
import { useAccount } from '../../api/account.ts';
import { useTenant } from '../../api/tenant.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, Secret } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { visibleName } from '../../ui/names.ts';
import { Note } from '../../ui/notes.tsx';

/** Dialog that shows a new key's value, once. */
export function ShowKeyDialog({ created, onClose }: { readonly created: NewKey; readonly onClose: () => void }) {
  const { environment } = useTenant();
  const { api_urls: urls } = useAccount();
  return (
    <Dialog title={`Key ${visibleName(created)}`} onClose={onClose} closable={false}>
      <Note tone="warn">Copy the key now. It is shown only once. If you lose it, roll the key.</Note>
      <Secret text={created.key ?? ''} label="Copy key" />
      <p className="small">Try it:</p>
      <CodeBlock
        label="Example"
        text={`curl -s ${urls[environment]}/v1/resources \\\n  -H "Authorization: Bearer ${created.key ?? ''}"`}
      />
      <div className="row row-end">
        <Button variant="main" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </Dialog>
  );
}
