import { createSecretBox, reseal } from '../../src/secrets/index.ts';

describe('reseal', () => {
  const [oldKey, newKey, lostKey] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
  const contextOf = ({ id }: { id: string }) => ({ purpose: 'test', id });
  const sealedBy = (key: Buffer, id: string) => ({ id, sealed: createSecretBox(key).seal(id, contextOf({ id })) });

  test('re-encrypts with the current key and leaves rows that no key opens unchanged', () => {
    const rows = [sealedBy(oldKey, 'a'), sealedBy(lostKey, 'b'), sealedBy(oldKey, 'c')];
    const { resealed, unreadable } = reseal(createSecretBox(newKey, [oldKey]), rows, contextOf);
    const onlyNew = createSecretBox(newKey);
    expect(resealed.map((row) => onlyNew.open(row.sealed, contextOf(row)).toString())).toEqual(['a', 'c']);
    expect(unreadable).toEqual([rows[1]]);
  });

  test('throws an error that is not about the sealed data', () => {
    const box = createSecretBox(newKey);
    const broken = () => {
      throw new TypeError('no context');
    };
    expect(() => reseal(box, [sealedBy(newKey, 'a')], broken)).toThrow(TypeError);
  });
});
