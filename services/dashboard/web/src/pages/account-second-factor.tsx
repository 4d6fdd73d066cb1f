import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { renderSVG } from 'uqr';
import { useAccount } from '../api/account.ts';
import { useAccountChange } from '../api/account-change.ts';
import { aboutField, call } from '../api/client.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CodeBlock, CopyButton } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';

interface State {
  readonly enabled: boolean;
  readonly recovery_codes_left: number;
}

/** The authenticator: turned on, turned off, and its recovery codes. */
export function SecondFactorCard() {
  const { data } = useQuery({
    queryKey: ['account', 'second-factor'],
    queryFn: ({ signal }) => call<State>('/api/account/second-factor', { signal }),
  });
  const [doing, setDoing] = useState<'begin' | 'renew' | 'remove'>();
  const [codes, setCodes] = useState<readonly string[]>();
  return (
    <Card
      title="Second factor"
      about="A code from an authenticator app, asked for after the password."
      actions={data ? <Badge tone={data.enabled ? 'good' : 'plain'}>{data.enabled ? 'On' : 'Off'}</Badge> : null}
    >
      <div className="stack">
        {data?.enabled ? <p>{data.recovery_codes_left} recovery codes are left.</p> : null}
        <div className="row">
          {data?.enabled ? (
            <>
              <Button onClick={() => setDoing('renew')}>New recovery codes</Button>
              <Button look="danger" onClick={() => setDoing('remove')}>
                Turn off
              </Button>
            </>
          ) : (
            <Button disabled={!data} onClick={() => setDoing('begin')}>
              Turn on
            </Button>
          )}
        </div>
      </div>
      {doing === 'begin' ? <Begin onClose={() => setDoing(undefined)} onCodes={setCodes} /> : null}
      {doing === 'renew' || doing === 'remove' ? (
        <WithCode what={doing} onClose={() => setDoing(undefined)} onCodes={setCodes} />
      ) : null}
      {codes ? <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} /> : null}
    </Card>
  );
}

interface Steps {
  readonly onClose: () => void;
  readonly onCodes: (codes: readonly string[]) => void;
}

function Begin({ onClose, onCodes }: Steps) {
  const { user } = useAccount();
  const begin = useAccountChange<{ secret: string; uri: string }>();
  const confirm = useAccountChange<{ recovery_codes: string[] }>(({ recovery_codes: codes }) => {
    onClose();
    onCodes(codes);
  });
  return (
    <Dialog title="Turn on the second factor" onClose={onClose}>
      {begin.data ? (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const code = String(new FormData(event.currentTarget).get('code'));
            confirm.mutate({ path: '/second-factor/confirm', body: { code } });
          }}
        >
          <p>Scan this with your authenticator app, or type the key in.</p>
          <img
            alt="QR code for the authenticator app"
            width="200"
            height="200"
            src={`data:image/svg+xml,${encodeURIComponent(renderSVG(begin.data.uri, { border: 2 }))}`}
          />
          <CodeBlock text={begin.data.secret} label="Key for the authenticator" />
          <TextField
            label="Code that the app shows"
            name="code"
            autoComplete="one-time-code"
            inputMode="numeric"
            className="input-code"
            wrong={aboutField(confirm.error, 'code')}
            required
          />
          <ErrorNote error={confirm.error} fields={['code']} />
          <div className="row row-end">
            <Button type="submit" look="main" busy={confirm.isPending}>
              Turn on
            </Button>
          </div>
        </form>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const password = String(new FormData(event.currentTarget).get('password') ?? '');
            begin.mutate({ path: '/second-factor/begin', body: { password } });
          }}
        >
          {user.has_password ? (
            <TextField
              label="Your password"
              name="password"
              type="password"
              autoComplete="current-password"
              wrong={aboutField(begin.error, 'password')}
              required
            />
          ) : null}
          <ErrorNote error={begin.error} fields={['password']} />
          <div className="row row-end">
            <Button type="submit" look="main" busy={begin.isPending}>
              Continue
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function WithCode({ what, onClose, onCodes }: Steps & { readonly what: 'renew' | 'remove' }) {
  const change = useAccountChange<{ recovery_codes: string[] } | undefined>((answer) => {
    onClose();
    if (answer) onCodes(answer.recovery_codes);
    else toast('The second factor is turned off. All other sessions have ended.');
  });
  const path = what === 'renew' ? '/second-factor/recovery-codes' : '/second-factor/remove';
  return (
    <Dialog title={what === 'renew' ? 'New recovery codes' : 'Turn off the second factor'} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ path, body: { code: String(new FormData(event.currentTarget).get('code')) } });
        }}
      >
        {what === 'renew' ? <p>The codes that you have now will end.</p> : null}
        <TextField
          label="Code of your authenticator, or a recovery code"
          name="code"
          autoComplete="one-time-code"
          className="input-code"
          wrong={aboutField(change.error, 'code')}
          required
        />
        <ErrorNote error={change.error} fields={['code']} />
        <div className="row row-end">
          <Button type="submit" look={what === 'remove' ? 'danger' : 'main'} busy={change.isPending}>
            {what === 'renew' ? 'Make new codes' : 'Turn off'}
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
      <Note tone="warn">Keep these where you find them without your phone. They are shown this once.</Note>
      <CodeBlock text={text} label="Recovery codes" />
      <div className="row row-end">
        <CopyButton text={text} label="Copy all" small={false} />
        <Button look="main" onClick={onClose}>
          I have kept them
        </Button>
      </div>
    </Dialog>
  );
}
