/** A schedule point with its text. */
export interface Point {
  /** Pixels from the left. */
  readonly x: number;
  readonly text: string;
}

export type Side = 'above' | 'below';

/** Upper bound for a label character's width, in pixels. */
const characterWidth = 6.2;
/** Minimum distance between labels on the same side, in pixels. */
const gap = 6;

/**
 * Chooses a side per label, so that no label covers another one. undefined: there is no space for the label. The
 * first and the last label are always shown; they extend to the inside. The other labels are centered.
 */
export function placeLabels(points: readonly Point[], width: number): (Side | undefined)[] {
  const last = points.length - 1;
  const boxes = points.map(({ x, text }, index) => {
    const size = text.length * characterWidth;
    const left = index === 0 ? x : index === last ? x - size : x - size / 2;
    return { left, right: left + size };
  });
  const sides: (Side | undefined)[] = points.map((_, index) =>
    index === 0 ? 'above' : index === last ? 'below' : undefined,
  );
  let previous: Side = 'above';
  for (const [index, box] of boxes.entries()) {
    if (index === 0 || index === last || box.left < 0 || box.right > width) continue;
    const isFree = (side: Side) =>
      boxes.every((other, i) => sides[i] !== side || other.right + gap <= box.left || box.right + gap <= other.left);
    const wanted: readonly Side[] = previous === 'above' ? ['below', 'above'] : ['above', 'below'];
    const side = wanted.find(isFree);
    if (!side) continue;
    sides[index] = side;
    previous = side;
  }
  return sides;
}
