import { useMay } from '../../api/tenant.ts';
import { numberText } from '../../texts/numbers.ts';
import { Note } from '../../ui/notes.tsx';
import { useEmailStatus } from './alert-queries.ts';

/** Warning that emails, such as invitations, wait because they cannot be sent. Empty if none wait. */
export function WaitingEmails() {
  const { data } = useEmailStatus(useMay('alerts:write'));
  if (!data || data.waiting === 0) return null;
  return (
    <Note tone="warn">
      <p>
        {data.waiting === 1 ? '1 email waits' : `${numberText(data.waiting)} emails wait`}: {data.last_error}
      </p>
      <p className="small">They are sent as soon as the mail server accepts them, for up to three days.</p>
    </Note>
  );
}
