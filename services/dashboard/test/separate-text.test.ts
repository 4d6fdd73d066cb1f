import { Fragment, jsx } from '../web/src/jsx/jsx-runtime.ts';
import { separateText } from '../web/src/jsx/separate-text.ts';

type Element = ReturnType<typeof jsx>;

const icon = jsx('svg', {});

/** Returns the children; an element that has been added around a text as `[text]`. */
function childrenOf(type: unknown, children: unknown): unknown {
  const separated: unknown = separateText(type, { children }).children;
  const described = (child: unknown) => {
    const { type, props } = (child ?? {}) as Partial<Element>;
    return type === 'span' ? `[${(props as { children: string }).children}]` : child;
  };
  return Array.isArray(separated) ? separated.map(described) : described(separated);
}

test('texts and values without elements next to them become one text', () => {
  expect(childrenOf('button', ['Redeliver ', 2, ' selected'])).toBe('Redeliver 2 selected');
  expect(childrenOf('p', [1n, null, false, ' of 3'])).toBe('1 of 3');
});

test('a text next to an element, or next to one that may appear, gets an element of its own', () => {
  expect(childrenOf('p', ['Until ', icon, '.'])).toEqual(['[Until ]', icon, '[.]']);
  expect(childrenOf('a', [icon, 'Keys'])).toEqual([icon, '[Keys]']);
  expect(childrenOf('a', [null, ['a', 'list'], 'Keys'])).toEqual([null, ['a', 'list'], '[Keys]']);
  expect(childrenOf(Fragment, 'alone')).toEqual(['[alone]']);
});

test('other children stay as they are, in the same positions', () => {
  expect(childrenOf('p', 'alone')).toBe('alone');
  expect(childrenOf('p', [icon, ' ', icon])).toEqual([icon, ' ', icon]);
  expect(childrenOf('p', [undefined, 'a', false, icon])).toEqual([undefined, '[a]', false, icon]);
  expect(childrenOf(Fragment, icon)).toBe(icon);
  const list = [icon, icon];
  expect(separateText('ul', { children: list }).children).toBe(list);
});
