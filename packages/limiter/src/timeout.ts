/**
 * The answer, or a rejection after a time. What comes later is dropped. An answer that has arrived while this process
 * was busy with something else counts: it is read before the time is found to be up.
 */
export function withTimeout<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new Error(`redis did not answer within ${timeoutMs} ms`));
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
