import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const deploy = join(import.meta.dirname, '..', '..', 'deploy');
/** The image's user. */
const user = /^USER (\d+):/m.exec(readFileSync(join(deploy, 'Containerfile'), 'utf8'))?.[1] ?? '';

describe('the compile cache of the image', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-compile-cache-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('belongs to the user of the image after it was filled by another one', () => {
    const main = join(folder, 'main.mjs');
    writeFileSync(main, 'export const one = 1;\n');
    const cache = join(folder, 'cache');
    spawnSync(process.execPath, [main], { env: { NODE_COMPILE_CACHE: cache } });
    const [filled = ''] = readdirSync(cache);
    expect(filled).toMatch(new RegExp(`-${process.getuid?.()}$`));
    const { status } = spawnSync(process.execPath, [join(deploy, 'image', 'share-compile-cache.mjs'), cache, user]);
    expect(status).toBe(0);
    const [shared = ''] = readdirSync(cache);
    expect(shared).toBe(filled.replace(/\d+$/, user));
    const files = readdirSync(join(cache, shared));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(statSync(join(cache, shared, file)).mode & 0o777).toBe(0o644);
  });

  test('is built for the user that the Containerfile names', () => {
    expect(readFileSync(join(deploy, 'image', 'build.mjs'), 'utf8')).toContain(`const imageUser = '${user}';`);
  });
});
