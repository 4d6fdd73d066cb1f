/** Somebody who signs in. */
export interface Person {
  readonly email: string;
  readonly password: string;
}

export interface Sent {
  readonly body?: unknown;
  /** An empty one is not sent. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** One that sends what a browser does; in it somebody may be signed in. */
export interface HttpBrowser {
  /** "name=value" of its session. */
  readonly cookie: string;
  readonly csrfToken: string;
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
}

/** A browser on that dashboard, with that session if there is one. */
export function browserAt(url: string, { cookie = '', csrfToken = '' } = {}): HttpBrowser {
  return {
    cookie,
    csrfToken,
    async send(method, path, { body, headers = {} } = {}) {
      const all = {
        ...(cookie === '' ? {} : { Cookie: cookie }),
        ...(method === 'GET' ? {} : { Origin: url, 'Sec-Fetch-Site': 'same-origin', 'X-CSRF-Token': csrfToken }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      };
      const answer = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: Object.entries(all).filter(([, value]) => value !== ''),
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return { status: answer.status, text: await textOf(answer), headers: answer.headers };
    },
  };
}

/** The body; of one that has no end, what comes with its head. */
async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text();
  const reader = answer.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return Buffer.from(value ?? []).toString();
}

/** Signs in by password; fails if that is refused. */
export async function signInAt(url: string, { email, password }: Person, cookie = ''): Promise<HttpBrowser> {
  const answer = await browserAt(url, { cookie }).send('POST', '/api/sign-in', { body: { email, password } });
  if (answer.status !== 200) throw new Error(`signing in: ${answer.status} ${answer.text}`);
  return continueWith(url, answer);
}

/** The browser that has got this answer, which begins a session. */
export async function continueWith(url: string, answer: Answer): Promise<HttpBrowser> {
  const cookie = sessionOf(answer);
  const account = await browserAt(url, { cookie }).send('GET', '/api/account');
  const { csrf_token: csrfToken = '' } = JSON.parse(account.text) as { csrf_token?: string };
  return browserAt(url, { cookie, csrfToken });
}

/** "name=value" of the session that an answer begins; empty: none. */
export function sessionOf({ headers }: Answer): string {
  const set = headers.getSetCookie().find((cookie) => cookie.includes('rms_session='));
  return set?.split(';')[0] ?? '';
}

/** The code of an answer that is an error. */
export function codeOf({ status, text }: Answer): string | undefined {
  return status < 400 ? undefined : (JSON.parse(text) as { error: { code: string } }).error.code;
}
