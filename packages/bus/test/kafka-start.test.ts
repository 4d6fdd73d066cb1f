import { chooseStart } from '../src/kafka-start.ts';

const at = (next: bigint) => ({ next, last: 'digest' });
const none = { stored: undefined, reached: undefined, adopted: undefined, low: 0n, high: 10n };

describe('a consumer starts', () => {
  test('at the stored position, whose preceding record identifies the log', () => {
    expect(chooseStart({ ...none, stored: at(5n) })).toEqual({ next: 5n, last: 'digest', loss: undefined, behind: 0n });
    expect(chooseStart({ ...none, stored: at(5n), reached: 3n })).toMatchObject({ next: 5n, behind: 0n });
    expect(chooseStart({ ...none, stored: at(10n) })).toMatchObject({ next: 10n, loss: undefined });
  });

  test('at the stored position although the group has handled more, and counts these records', () => {
    expect(chooseStart({ ...none, stored: at(5n), reached: 9n })).toMatchObject({
      next: 5n,
      loss: undefined,
      behind: 4n,
    });
  });

  test('at the oldest record if later ones than the stored position were deleted, and counts exactly these', () => {
    const loss = { reason: 'deleted', range: [5n, 7n] };
    expect(chooseStart({ ...none, stored: at(5n), low: 7n })).toEqual({ next: 7n, last: undefined, loss, behind: 0n });
    expect(chooseStart({ ...none, stored: at(5n), low: 7n, reached: 9n })).toMatchObject({ loss, behind: 4n });
  });

  test('at the oldest record if all records before the stored position were deleted; there is none to compare', () => {
    const start = { next: 5n, last: undefined, loss: undefined, behind: 0n };
    expect(chooseStart({ ...none, stored: at(5n), low: 5n })).toEqual(start);
  });

  test('at the oldest record of a log that ends before the stored position, which is another one', () => {
    const loss = { reason: 'replaced', range: undefined };
    expect(chooseStart({ ...none, stored: at(11n), low: 2n })).toMatchObject({ next: 2n, loss });
  });

  test('at the oldest record without a stored position', () => {
    expect(chooseStart({ ...none, low: 3n })).toMatchObject({ next: 3n, loss: undefined, behind: 0n });
    // The store has lost its position.
    expect(chooseStart({ ...none, reached: 7n })).toMatchObject({ next: 0n, loss: undefined, behind: 7n });
    const loss = { reason: 'deleted', range: undefined };
    expect(chooseStart({ ...none, reached: 7n, low: 3n })).toMatchObject({ next: 3n, loss, behind: 4n });
  });

  test('at the offset of a group that has not stored a position yet', () => {
    expect(chooseStart({ ...none, adopted: 4n })).toMatchObject({ next: 4n, loss: undefined, behind: 0n });
    expect(chooseStart({ ...none, adopted: 4n, low: 6n }).loss).toEqual({ reason: 'deleted', range: [4n, 6n] });
    expect(chooseStart({ ...none, adopted: 4n, stored: at(2n) })).toMatchObject({ next: 2n, behind: 0n });
  });
});
