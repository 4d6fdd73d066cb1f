/**
 * Returns the code blocks of a Markdown text.
 * @returns {import('./code-blocks.d.mts').CodeBlock[]}
 */
export function codeBlocks(text) {
  const fenced = /^(?:( *)<!-- (.*) -->\n)?( *)(```+)(\w*)[^\n]*\n([\s\S]*?)^\3\4[^\S\n]*$/gm;
  return [...text.matchAll(fenced)].map(({ index, 2: note = '', 3: indent, 5: language, 6: code }) => ({
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    line: text.slice(0, index).split('\n').length + (note === '' ? 0 : 1),
    note,
  }));
}
