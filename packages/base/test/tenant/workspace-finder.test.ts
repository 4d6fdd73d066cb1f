import { findInPages, workspaceFinder } from '../../src/tenant/index.ts';

describe('a workspace finder', () => {
  test('rejects an empty ID, and asks for at most 20 workspaces', async () => {
    const find = workspaceFinder(async (id, limit) => [`${id} ${limit}`]);
    await expect(find({ id: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await find({ id: 'wh_1' })).toEqual({ workspaceIds: ['wh_1 20'] });
  });

  /** Probes the numbers 0 to 2,499. */
  const probed: string[] = [];
  const numbers = (isOwner: (number: number) => boolean) => async (after: number | undefined, size: number) => {
    const start = after === undefined ? 0 : after + 1;
    const page = Array.from({ length: Math.min(size, 2_500 - start) }, (_, i) => start + i);
    probed.push(`${start} ${page.length}`);
    return { found: page.filter(isOwner).map(String), probed: page.length, last: page.at(-1) };
  };
  beforeEach(() => void probed.splice(0));

  test('probes all owners, a bounded number at a time', async () => {
    expect(
      await findInPages(
        numbers((number) => number % 1_200 === 7),
        20,
      ),
    ).toEqual(['7', '1207', '2407']);
    expect(probed).toEqual(['0 1000', '1000 1000', '2000 500']);
  });

  test('ends when enough owners are found', async () => {
    expect(
      await findInPages(
        numbers((number) => number < 30),
        20,
      ),
    ).toHaveLength(20);
    expect(probed).toEqual(['0 1000']);
  });
});
