/**
 * Lets callers through in the order in which they came, a few together, and then nobody until `restMs` have passed: what
 * follows from those of one group can share a batch, and whatever else there is to do gets its turn in between.
 */
export function createPace(together: number, restMs: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let left = together;
  let resting = false;
  const begin = () => {
    left = together;
    resting = false;
    for (const resolve of waiting.splice(0, together)) letThrough(resolve);
  };
  const letThrough = (resolve: () => void) => {
    left -= 1;
    resolve();
    if (resting) return;
    resting = true;
    setTimeout(begin, restMs);
  };
  return () =>
    new Promise((resolve) => {
      if (left > 0 && waiting.length === 0) letThrough(resolve);
      else waiting.push(resolve);
    });
}
