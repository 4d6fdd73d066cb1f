import { join } from 'node:path';
import { inlineTexts, portalTexts } from '../../../scripts/lib/inline-texts.mjs';

test('every text of the portal is in the catalog', () => {
  expect(portalTexts(join(import.meta.dirname, '..', '..', '..'))).toEqual([]);
});

test.each([
  ['<p className="row wide">Send now {count}</p>', 'Send now'],
  ['<Field label="send" name="send" />', 'send'],
  ['<p>{isOpen ? "open" : texts.closed}</p>', 'open'],
  ["const options = [['', 'Any status'], ['failed', texts.failed]]", 'Any status'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: source of a page
  ['toast(`The webhook is ${status}.`)', 'The webhook is '],
])('a page with a text is found: %s', (source, text) => {
  expect(inlineTexts(source)).toEqual([text]);
});
