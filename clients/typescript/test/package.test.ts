import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
const manifestOf = (...path: string[]) => JSON.parse(read(...path, 'package.json'));

describe('the package', () => {
  test('can be published, with its license and without source files', () => {
    const manifest = manifestOf('clients', 'typescript');
    expect(manifest).toMatchObject({ license: 'MIT', publishConfig: { access: 'public' }, files: ['dist'] });
    expect(manifest).not.toHaveProperty('private');
    for (const file of Object.values(manifest.exports['.'])) expect(file).toMatch(/^\.\/dist\//);
    expect(read('clients', 'typescript', 'LICENSE')).toBe(read('LICENSE'));
  });

  test('has the version of the service, like all other packages and the client for Python', () => {
    const { version, workspaces } = manifestOf();
    const folders = globSync(workspaces as string[], { cwd: root });
    expect(folders.length).toBeGreaterThan(20);
    for (const folder of folders) expect([folder, manifestOf(folder).version]).toEqual([folder, version]);
    expect(read('clients', 'python', 'pyproject.toml')).toContain(`\nversion = "${version}"\n`);
  });
});
