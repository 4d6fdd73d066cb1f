import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { renderSVG } from 'uqr';
import { useAccount } from '../../api/account.ts';
import { call, fieldError } from '../../api/client.ts';
import { toast } from '../../toasts.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CopyButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { useAccountChange } from './account-change.ts';

interface SecondFactor {
  readonly enabled: boolean;
  readonly recovery_codes_remaining: number;
}

/** Card for enabling and disabling two-factor authentication and renewing recovery codes. */
export function SecondFactorCard() {
  const { data } = useQuery({
    queryKey: ['account', 'second-factor'],
    queryFn: ({ signal }) => call<SecondFactor>('/api/account/second-factor', { signal }),
  });
  const [openDialog, setOpenDialog] = useState<'enroll' | 'renew' | 'remove'>();
  const [codes, setCodes] = useState<readonly string[]>();
  const { user } = useAccount();
  return (
    <Card
      title="Two-factor authentication"
      about="Requires a code from an authenticator app after the password."
      actions={
        data ? <Badge tone={data.enabled ? 'good' : 'plain'}>{data.enabled ? 'Enabled' : 'Disabled'}</Badge> : null
      }
    >
      <div className="stack">
        {data?.enabled ? <p>Remaining recovery codes: {data.recovery_codes_remaining}</p> : null}
        <div className="row">
          {data?.enabled ? (
            <>
              <Button onClick={() => setOpenDialog('renew')}>Create new recovery codes</Button>
              <Button variant="danger" onClick={() => setOpenDialog('remove')}>
                Disable
              </Button>
            </>
          ) : (
            <Button disabled={!data} onClick={() => setOpenDialog('enroll')}>
              Enable
            </Button>
          )}
        </div>
      </div>
      {openDialog === 'enroll' && user.has_password ? (
        <EnableDialog onClose={() => setOpenDialog(undefined)} onCodes={setCodes} />
      ) : null}
      {openDialog === 'enroll' && !user.has_password ? (
        <PasswordRequiredDialog onClose={() => setOpenDialog(undefined)} />
      ) : null}
      {openDialog === 'renew' || openDialog === 'remove' ? (
        <CodeDialog purpose={openDialog} onClose={() => setOpenDialog(undefined)} onCodes={setCodes} />
      ) : null}
      {codes ? <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} /> : null}
    </Card>
  );
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onCodes: (codes: readonly string[]) => void;
}

/**
 * Dialog for users without a password, who sign in only through single sign-on. Enabling the second factor requires a
 * password as proof. Otherwise anyone with access to an open session could lock the user out.
 */
function PasswordRequiredDialog({ onClose }: Pick<DialogProps, 'onClose'>) {
  const { email } = useAccount().user;
  const request = useMutation({
    mutationFn: () => call('/api/password-reset/request', { method: 'POST', body: { email } }),
  });
  return (
    <Dialog title="Set a password first" onClose={onClose}>
      <div className="stack">
        {request.isSuccess ? (
          <Note tone="good">We sent a link to {email}. Set a password, then enable two-factor authentication.</Note>
        ) : (
          <p>
            Your account has no password. Enabling two-factor authentication requires a password to confirm your
            identity. We can send a link for setting a password to {email}. Setting it ends all your sessions.
          </p>
        )}
        <ErrorNote error={request.error} />
        <div className="row row-end">
          {request.isSuccess ? (
            <Button variant="main" onClick={onClose}>
              Close
            </Button>
          ) : (
            <Button variant="main" busy={request.isPending} onClick={() => request.mutate()}>
              Send link
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function EnableDialog({ onClose, onCodes }: DialogProps) {
  const enrollment = useAccountChange<{ secret: string; uri: string }>();
  const confirm = useAccountChange<{ recovery_codes: string[] }>(({ recovery_codes: codes }) => {
    onClose();
    onCodes(codes);
  });
  return (
    <Dialog title="Enable two-factor authentication" onClose={onClose}>
      {enrollment.data ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const code = String(new FormData(event.currentTarget).get('code'));
            confirm.mutate({ path: '/second-factor/confirm', body: { code } });
          }}
        >
          <p>Scan the QR code with your authenticator app, or enter the key.</p>
          <img
            alt="QR code for the authenticator app"
            width="200"
            height="200"
            src={`data:image/svg+xml,${encodeURIComponent(renderSVG(enrollment.data.uri, { border: 2 }))}`}
          />
          <CodeBlock text={enrollment.data.secret} label="Authenticator key" />
          <TextField
            label="Code from the app"
            name="code"
            autoComplete="one-time-code"
            inputMode="numeric"
            className="input-code"
            error={fieldError(confirm.error, 'code')}
            required
          />
          <ErrorNote error={confirm.error} fields={['code']} />
          <div className="row row-end">
            <Button type="submit" variant="main" busy={confirm.isPending}>
              Enable
            </Button>
          </div>
        </form>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const password = String(new FormData(event.currentTarget).get('password'));
            enrollment.mutate({ path: '/second-factor/begin', body: { password } });
          }}
        >
          <TextField
            label="Current password"
            name="password"
            type="password"
            autoComplete="current-password"
            error={fieldError(enrollment.error, 'password')}
            required
          />
          <ErrorNote error={enrollment.error} fields={['password']} />
          <div className="row row-end">
            <Button type="submit" variant="main" busy={enrollment.isPending}>
              Continue
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function CodeDialog({ purpose, onClose, onCodes }: DialogProps & { readonly purpose: 'renew' | 'remove' }) {
  const change = useAccountChange<{ recovery_codes: string[] } | undefined>((result) => {
    onClose();
    if (result) onCodes(result.recovery_codes);
    else toast('Two-factor authentication disabled. All other sessions have ended.');
  });
  const path = purpose === 'renew' ? '/second-factor/recovery-codes' : '/second-factor/remove';
  return (
    <Dialog
      title={purpose === 'renew' ? 'Create new recovery codes' : 'Disable two-factor authentication'}
      onClose={onClose}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ path, body: { code: String(new FormData(event.currentTarget).get('code')) } });
        }}
      >
        {purpose === 'renew' ? <p>Your current recovery codes become invalid.</p> : null}
        <TextField
          label="Authenticator code or recovery code"
          name="code"
          autoComplete="one-time-code"
          className="input-code"
          error={fieldError(change.error, 'code')}
          required
        />
        <ErrorNote error={change.error} fields={['code']} />
        <div className="row row-end">
          <Button type="submit" variant={purpose === 'remove' ? 'danger' : 'main'} busy={change.isPending}>
            {purpose === 'renew' ? 'Create codes' : 'Disable'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RecoveryCodes({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  const text = codes.join('\n');
  return (
    <Dialog title="Recovery codes" onClose={onClose} closable={false}>
      <Note tone="warn">Store these codes where you can find them without your phone. They are shown only once.</Note>
      <CodeBlock text={text} label="Recovery codes" />
      <div className="row row-end">
        <CopyButton text={text} label="Copy all" small={false} />
        <Button variant="main" onClick={onClose}>
          I have saved them
        </Button>
      </div>
    </Dialog>
  );
}
