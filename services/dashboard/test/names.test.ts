import { isSameShown, shownText, visibleName } from '../web/src/ui/names.ts';

test.each([
  ['double spaces', 'Order  service', 'Order service'],
  ['spaces at the edges', ' Order service ', 'Order service'],
  ['a no-break space', 'Order\u00a0service', 'Order service'],
  ['line breaks and tabs', 'Order\r\n\tservice', 'Order service'],
  ['decomposed accents', 'Cafe\u0301', 'Café'],
  ['zero-width characters', 'Or\u200bder\ufeff', 'Order'],
  ['a zero-width character between spaces', 'Order \u200b service', 'Order service'],
])('a name with %s is confirmed by typing it as it is shown', (_, name, typed) => {
  expect(isSameShown(typed, name)).toBe(true);
  expect(isSameShown(shownText(name), name)).toBe(true);
  expect(isSameShown(`${typed}x`, name)).toBe(false);
  expect(isSameShown('', name)).toBe(false);
});

test('names that differ in letters or case are not the same', () => {
  expect(isSameShown('order', 'Order')).toBe(false);
  expect(isSameShown('Cafe', 'Café')).toBe(false);
});

test.each([' ', '\u00a0', '\u200b\u200d', '\u2800', '\u3164', '\u00ad', '\n\t', '\u0007'])(
  'a name that draws nothing is shown as the ID: %j',
  (name) => {
    expect(visibleName({ id: 'res_1', name })).toBe('res_1');
  },
);

test.each(['.', 'a\u200bb', '👩\u200d💻', '한'])('a name that draws something is shown: %j', (name) => {
  expect(visibleName({ id: 'res_1', name })).toBe(name);
});
