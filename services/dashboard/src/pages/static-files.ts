import { readdir, readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RmsError } from '@rms/base/errors';
import type { Request } from 'express';
import type { PageResponse } from '../http/locals.ts';

/** The built pages in memory, with their compressed forms. */
export interface StaticFiles {
  send(request: Request, response: PageResponse): void;
}

interface StaticFile {
  readonly type: string;
  /** Body by content encoding. '' is the uncompressed file. */
  readonly bodies: ReadonlyMap<string, Buffer>;
  /** True if the file name contains a content hash. */
  readonly isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
/** Preferred encoding first. The build creates a compressed file next to each file. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Output directory of Vite. */
const folder = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'web');

/** Reads all pages into memory (a few hundred kilobytes). Throws an error with build instructions if there are none. */
export async function readStaticFiles(): Promise<StaticFiles> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, StaticFile>();
  for (const entry of names) {
    const path = join(entry.parentPath, entry.name);
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const bodies = new Map([['', await readFile(path)]]);
    for (const [encoding, suffix] of encodings) {
      const packed = await readFile(path + suffix).catch(() => undefined);
      if (packed) bodies.set(encoding, packed);
    }
    const url = `/${path.slice(folder.length + 1)}`.replaceAll('\\', '/');
    files.set(url, { type, bodies, isImmutable: url.startsWith('/assets/') });
  }
  const page = files.get('/index.html');
  if (!page) throw new Error(`The dashboard pages are not built: ${folder} has no index.html. Run npm run build.`);
  return {
    send(request, response) {
      const { path } = request;
      const file = files.get(path);
      // Any other path is a page, which the client-side router resolves. A missing file is 404.
      const isFile = path.startsWith('/assets/') || (dirname(path) === '/' && extname(path) !== '');
      if (!file && isFile) throw new RmsError('not_found');
      sendFile(request, response, file ?? page);
    },
  };
}

function sendFile({ headers }: Request, response: PageResponse, { type, bodies, isImmutable }: StaticFile): void {
  const accepted = String(headers['accept-encoding'] ?? '')
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => !/;\s*q=0(?:\.0*)?$/.test(entry))
    .map((entry) => entry.split(';', 1)[0]);
  const [encoding = ''] = encodings.map(([name]) => name).filter((name) => accepted.includes(name) && bodies.has(name));
  const body = bodies.get(encoding) as Buffer;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', body.length);
  response.setHeader('Vary', 'Accept-Encoding');
  response.setHeader('Cache-Control', isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache');
  if (encoding !== '') response.setHeader('Content-Encoding', encoding);
  response.end(body);
}

/**
 * Returns the page for a browser with too large headers. It has no script and no style, because the assets of the
 * dashboard would be requested with the same headers.
 */
export function headersPage(maxHeadersKib: number): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Too many cookies</title>
<h1>Too many cookies</h1>
<p>Your browser sent more than ${maxHeadersKib} KiB of headers. The usual cause are cookies of other applications on the
same domain.</p>
<ul>
<li>Delete the cookies of this domain in the settings of your browser, then reload the page. You must sign in again.</li>
<li>If this happens again, ask the operator to raise MAX_HEADERS_KIB, or to serve the dashboard on a domain of its own.</li>
</ul>
</html>
`;
}
