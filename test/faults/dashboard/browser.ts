/** Login of a user. */
export interface TestUser {
  readonly email: string;
  readonly password: string;
}

export interface Sent {
  readonly body?: unknown;
  /** Headers with an empty value are not sent. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface BrowserResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** An HTTP client that sends a browser's headers, with an optional session. */
export interface HttpBrowser {
  /** "name=value" of its session. */
  readonly cookie: string;
  readonly csrfToken: string;
  send(method: string, path: string, sent?: Sent): Promise<BrowserResponse>;
}

/** Creates a browser for this dashboard, with a session if one is given. */
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
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: Object.entries(all).filter(([, value]) => value !== ''),
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return { status: response.status, text: await textOf(response), headers: response.headers };
    },
  };
}

/** Returns the body, or the first chunk of an event stream, which has no end. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return Buffer.from(value ?? []).toString();
}

/** Signs in with a password; throws if sign-in is rejected. */
export async function signInAt(url: string, { email, password }: TestUser, cookie = ''): Promise<HttpBrowser> {
  const response = await browserAt(url, { cookie }).send('POST', '/api/sign-in', { body: { email, password } });
  if (response.status !== 200) throw new Error(`sign-in returned ${response.status} ${response.text}`);
  return continueWith(url, response);
}

/** Returns a browser with the session that this response starts. */
export async function continueWith(url: string, response: BrowserResponse): Promise<HttpBrowser> {
  const cookie = sessionOf(response);
  const account = await browserAt(url, { cookie }).send('GET', '/api/account');
  const { csrf_token: csrfToken = '' } = JSON.parse(account.text) as { csrf_token?: string };
  return browserAt(url, { cookie, csrfToken });
}

/** Returns "name=value" of the session that a response starts, or an empty string. */
export function sessionOf({ headers }: BrowserResponse): string {
  const set = headers.getSetCookie().find((cookie) => /rms_session(?:_\d+)?=/.test(cookie));
  return set?.split(';')[0] ?? '';
}

/** Returns the error code of a response; undefined if it is not an error. */
export function codeOf({ status, text }: BrowserResponse): string | undefined {
  return status < 400 ? undefined : (JSON.parse(text) as { error: { code: string } }).error.code;
}
