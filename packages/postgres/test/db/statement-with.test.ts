import { statementWith } from '../../src/db/index.ts';

const between = statementWith<{ least: number; most: number | undefined; list?: null }>(
  'between',
  'select $least::int as a, $most as b where 1 between $least and $most',
);

test('named parameters become numbers, each once, in the order in which the text first uses them', () => {
  expect(between({ most: 2, least: 1 })).toEqual({
    name: 'between',
    text: 'select $1::int as a, $2 as b where 1 between $1 and $2',
    values: [1, 2],
  });
});

test('a missing value throws instead of being null', () => {
  expect(() => between({ least: 1, most: undefined })).toThrow('statement between has no value for $most');
});
