/**
 * Returns the anchor that GitHub generates for a heading, from the text of the heading without Markdown. The
 * documentation site uses the same anchors, so that a link works in both.
 */
export function headingSlug(text) {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
