// Checks the references in Markdown files (links, anchors, and names of repository files) and the names in comments.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { headingSlug } from './heading-slug.mjs';

/** A path that begins with a repository folder, in prose or in backticks; not the target of `kubectl exec`. */
const repositoryPath =
  /(?<![\w./-]|exec )(?:packages|services|cli|standalone|scripts|deploy|docs|test|proto)\/[\w./-]*\w\/?/g;
/** A path that begins with another folder, such as "engine/record/recorder.ts". */
const partOfPath = /(?<![\w./@:*{-])(?:[\w-]+\/)+[\w.-]*[\w-]\.(?:tsx?|[cm]js|md|proto|sql)(?![\w-])/g;
/** A comment line. */
const comment = /^\s*(?:\/\*\*?|\*|\/\/|#)\s(.*)$/;
/** A file name in backticks, with or without folders. */
const fileName = /^[\w./-]*[\w-]\.(?:tsx?|[cm]?js|json|md|proto|py|sh|sql|tpl|ya?ml)$/;
/** Characters after a path that make it a pattern or an example. */
const placeholder = /^[<*{…]/;

/**
 * Returns a line per broken reference of the Markdown files in `files`.
 * @param root folder of the repository
 * @param files all files of the repository, relative to `root`
 */
export function brokenReferences(root, files) {
  const documents = files.filter((file) => file.endsWith('.md') && existsSync(join(root, file)));
  const texts = new Map(documents.map((file) => [file, withoutFences(readFileSync(join(root, file), 'utf8'))]));
  const anchors = new Map([...texts].map(([file, text]) => [file, anchorsOf(text)]));
  const problems = [];
  for (const [file, text] of texts) {
    const report = (index, problem) => problems.push(`${file}:${text.slice(0, index).split('\n').length}: ${problem}`);
    for (const { index, target } of linksIn(text)) {
      const [path, anchor] = target.split('#');
      const linked = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path)));
      if (!existsSync(join(root, linked))) report(index, `no file for the link ${target}`);
      else if (anchor && anchors.has(linked) && !anchors.get(linked).has(anchor)) {
        report(index, `no heading for the link ${target}`);
      }
    }
    for (const { index, name } of namesIn(text)) {
      if (!isName(name, files)) report(index, `no such file in the repository: ${name}`);
    }
  }
  return problems;
}

/** Returns a line per name in a source comment, a setting or a script that no file of the repository has. */
export function brokenComments(root, files) {
  const sources = files.filter((file) => /\.(?:[cm]?[jt]sx?|proto|ya?ml)$/.test(file) && existsSync(join(root, file)));
  return sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const [, text = ''] = comment.exec(line) ?? [];
        const wrong = pathsIn(text).filter(({ name }) => !isName(name, files));
        return wrong.map(({ name }) => `${file}:${index + 1}: no such file in the repository: ${name}`);
      }),
  );
}

/** Replaces code blocks by empty lines, so that line numbers stay correct. */
function withoutFences(text) {
  return text.replaceAll(/^( *)(```+)[^\n]*\n[\s\S]*?^\1\2[^\S\n]*$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
}

/** Returns the anchors of all headings, and those set by `id` attributes. */
function anchorsOf(text) {
  const seen = new Map();
  const headings = [...text.matchAll(/^#{1,6} +(.*?) *#*$/gm)].map(([, heading]) => {
    const slug = headingSlug(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set([...headings, ...[...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)]);
}

/** Returns the targets of links and images, except those with a scheme. */
function linksIn(text) {
  const prose = text.replaceAll(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(({ index, 1: target }) => ({ index, target }))
    .filter(({ target }) => !/^[a-z][a-z+.-]*:/i.test(target));
}

/** Returns the names of repository files in prose and in backticks. */
function namesIn(text) {
  const prose = text.replaceAll(/\]\([^()\s]+\)/g, (link) => ' '.repeat(link.length));
  const paths = pathsIn(prose);
  const inCode = [...prose.matchAll(/`([^`\s]+)`/g)]
    .filter(([, name]) => fileName.test(name) && !name.startsWith('/') && !paths.some((path) => path.name === name))
    .map(({ 1: name, index }) => ({ index, name }));
  return [...paths, ...inCode];
}

/** Returns the paths of repository files in prose. */
function pathsIn(prose) {
  return [...prose.matchAll(repositoryPath), ...prose.matchAll(partOfPath)]
    .filter(({ 0: name, index }) => !placeholder.test(prose.slice(index + name.length)))
    .map(({ 0: name, index }) => ({ index, name }));
}

/** Whether a file has this path or ends with it. A path without an extension may be a folder or a path prefix. */
function isName(name, files) {
  const path = normalize(name);
  if (/\/dist(?:\/|$)/.test(path)) return true; // built
  return files.some(
    (file) => file === path || file.endsWith(`/${path}`) || (!/\.\w+$/.test(path) && file.startsWith(path)),
  );
}
