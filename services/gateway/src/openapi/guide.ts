import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A reference page: a tag in the OpenAPI document, usually without operations. */
interface Page {
  readonly name: string;
  readonly description: string;
}

/** Pages of the reference by group, and the text of the tags that have operations. */
interface Guide {
  readonly groups: readonly { readonly name: string; readonly pages: readonly Page[] }[];
  readonly additions: ReadonlyMap<string, string>;
}

/** Pages from documents: one per section, or one for the whole document. */
const documents = {
  'api-guide.md': { group: 'Guide' },
  'errors.md': { group: 'Guide', page: 'Error codes' },
  'webhook-receivers.md': { group: 'Receiving webhooks' },
} as const;
type File = keyof typeof documents;

/** Returns the guides of docs/ as pages. The section of the API guide with a tag's name belongs to that tag. */
export function readGuide(tags: readonly string[]): Guide {
  const pages = Object.entries(documents).flatMap(([file, options]) => {
    const text = readFileSync(fileURLToPath(new URL(`../../../../docs/${file}`, import.meta.url)), 'utf8');
    const sections = 'page' in options ? [{ name: options.page, text }] : sectionsOf(text);
    return sections.map((section) => ({ file: file as File, group: options.group, ...section }));
  });
  /** Page by document, and by document and anchor. */
  const targets = new Map<string, string>();
  for (const { file, name, text } of pages) {
    const address = `#tag/${slugOf(name)}`;
    if (!targets.has(file)) targets.set(file, address);
    for (const [, heading = ''] of [['', name], ...text.matchAll(/^#+ (.*)$/gm)]) {
      targets.set(`${file}#${slugOf(heading)}`, address);
    }
  }
  const described = pages.map(({ file, group, name, text }) => ({
    group,
    page: { name, description: withLinks(text, file, targets) },
  }));
  const additions = described.filter(({ page }) => tags.includes(page.name));
  const groups = new Set(described.map(({ group }) => group));
  return {
    groups: [...groups].map((name) => ({
      name,
      pages: described.filter((one) => one.group === name && !additions.includes(one)).map(({ page }) => page),
    })),
    additions: new Map(additions.map(({ page }) => [page.name, page.description])),
  };
}

function sectionsOf(text: string): { name: string; text: string }[] {
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => {
    const end = section.indexOf('\n');
    return { name: section.slice(0, end), text: section.slice(end + 1) };
  });
}

/** Replaces links to sections by links to pages, other relative links by their text, and removes titles and comments. */
function withLinks(text: string, file: File, targets: ReadonlyMap<string, string>): string {
  return text
    .replace(/^# .*\n/, '')
    .replaceAll(/^<!-- .* -->\n/gm, '')
    .replaceAll(/\[([^[\]]+)\]\(([^()\s]+)\)/g, (link, label: string, target: string) => {
      if (/^https?:/.test(target)) return link;
      const page = targets.get(target.startsWith('#') ? file + target : target);
      return page === undefined ? label : `[${label}](${page})`;
    })
    .trim();
}

/** Returns a heading's anchor, as the viewer and the documents make it. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
