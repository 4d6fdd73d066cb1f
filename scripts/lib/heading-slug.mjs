/**
 * Returns the anchor that GitHub generates for a heading, from the heading's text without Markdown. The
 * documentation site uses the same anchors, so that a link works in both.
 */
export function headingSlug(text) {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
