import { randomId } from '../browser/random-id.ts';
import { browserStorage } from '../browser/storage.ts';
import { ApiError } from './client.ts';

/**
 * Calls `send` with a key for the intended change at this path. The key is renewed after a response that tells whether
 * the change was made. After a lost response it stays, also for other tabs, so that a repetition returns the result of
 * the first request instead of making the change twice. The dashboard combines it with the request's content, so a
 * different content is another change.
 */
export async function withIntent<T>(path: string, send: (key: string) => Promise<T>): Promise<T> {
  const name = `rms-intent ${path}`;
  const key = browserStorage.get(name) ?? randomId();
  browserStorage.set(name, key);
  try {
    const result = await send(key);
    browserStorage.remove(name);
    return result;
  } catch (error) {
    if (isRefusal(error)) browserStorage.remove(name);
    throw error;
  }
}

/** Whether the server has refused the change. Without a readable response, or after a failure, it may have been made. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code !== 'unreadable' && error.status >= 400 && error.status < 500;
}
