/** Response of the REST API. */
export interface ApiResponse<T> {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the response has no body. */
  readonly body: T;
}

/**
 * Sends a request to the REST API.
 * @param url URL with the path
 * @param json sent as body, unless it is undefined
 */
export async function callApi<T = { data: { id: string } }>(
  method: string,
  url: string,
  key: string | undefined,
  json?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse<T>> {
  const response = await fetch(url, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: json === undefined ? null : JSON.stringify(json),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/**
 * Returns a function that sends requests to the REST API at `url`, and throws for an error response. It returns the ID
 * in the response's document, if there is one, and the request's ID.
 */
export function apiCaller(url: string, key: string | undefined, headers: Readonly<Record<string, string>> = {}) {
  return async (method: string, path: string, json?: unknown): Promise<{ id: string; requestId: string }> => {
    const response = await callApi(method, url + path, key, json, headers);
    if (response.status >= 400)
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return { id: response.body?.data?.id ?? '', requestId: response.headers.get('X-Request-ID') ?? '' };
  };
}
