/**
 * Lets callers through one after the other, at least `apartMs` apart and in the order in which they came; the first at once.
 * Each turn waits for the event loop to come round, so that whatever else there is to do gets its turn in between.
 */
export function createPace(apartMs: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let resting = false;
  const next = () => {
    const resolve = waiting.shift();
    resting = resolve !== undefined;
    if (!resolve) return;
    resolve();
    setTimeout(next, apartMs);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (!resting) next();
    });
}
