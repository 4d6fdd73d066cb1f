import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import { queryClient } from '../../api/query-client.ts';
import { CenteredPage } from '../../layout/centered-page.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { failureText } from './failure-text.ts';
import { signInOptions } from './sign-in-options.ts';

interface Step {
  readonly step: 'done' | 'second_factor';
}

/** Sign-in page: email and password, then the second factor if enabled. */
export function SignInPage() {
  const { next, step: initialStep, failed, reason = '' } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const options = useQuery(signInOptions);
  const [step, setStep] = useState<'password' | 'second_factor'>(
    initialStep === 'second_factor' ? 'second_factor' : 'password',
  );
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  const send = async (path: string, body: object) => {
    setBusy(true);
    setError(undefined);
    try {
      const result = await call<Step>(path, { method: 'POST', body });
      if (result.step === 'second_factor') setStep('second_factor');
      else {
        queryClient.clear();
        await navigate({ href: ownPath(next) });
      }
    } catch (thrown) {
      // The first step counts for a few minutes.
      if (thrown instanceof ApiError && thrown.code === 'not_signed_in') setStep('password');
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '');
    if (step === 'password') void send('/api/sign-in', { email: text('email').trim(), password: text('password') });
    else void send('/api/sign-in/second-factor', { code: text('code') });
  };

  if (step === 'second_factor') {
    return (
      <CenteredPage title="Two-factor authentication">
        <form className="stack" onSubmit={submit}>
          <TextField
            label="Code"
            name="code"
            hint="Six-digit authenticator code, or a recovery code."
            autoComplete="one-time-code"
            inputMode="text"
            className="input-code"
            required
            autoFocus
          />
          <ErrorNote error={error} />
          <Button type="submit" variant="main" busy={busy}>
            Verify
          </Button>
          <Button variant="plain" onClick={() => setStep('password')}>
            Back
          </Button>
        </form>
      </CenteredPage>
    );
  }
  return (
    <CenteredPage title="Sign in">
      <form className="stack" onSubmit={submit}>
        <TextField label="Email" name="email" type="email" autoComplete="username" required />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <ErrorNote error={error} />
        {failed && !error ? (
          <Note tone="bad">
            <p>
              Sign-in with {options.data?.oidc?.name ?? 'the provider'} failed. {failureText(reason)}
            </p>
            <p className="small">
              Request ID <code>{failed}</code>
            </p>
          </Note>
        ) : null}
        <Button type="submit" variant="main" busy={busy}>
          Sign in
        </Button>
        {options.data?.oidc ? (
          <a className={buttonClass()} href={`/api/oidc/start?${new URLSearchParams({ next: ownPath(next) })}`}>
            Sign in with {options.data.oidc.name}
          </a>
        ) : null}
        <p className="small">
          <Link to="/forgot-password">Forgot your password?</Link>
        </p>
      </form>
    </CenteredPage>
  );
}

/** Returns `next` if it is a path of this site; otherwise "/". */
function ownPath(next: string | undefined): string {
  if (!next?.startsWith('/') || !URL.canParse(next, location.origin)) return '/';
  const { origin, pathname, search, hash } = new URL(next, location.origin);
  // The path of "/.//elsewhere" is "//elsewhere", which browsers treat as another host.
  return origin === location.origin && !pathname.startsWith('//') ? pathname + search + hash : '/';
}
