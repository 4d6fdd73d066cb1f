import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { countFigures, exceededLimits } from '../../scripts/lib/budget.mjs';

describe('the budget of npm run check', () => {
  test('a figure that equals its limit, or is below it, passes', () => {
    expect(exceededLimits({ packages: 14, settings: 80 }, { packages: 14, settings: 81 })).toEqual([]);
  });

  test('a figure over its limit fails, with the figure, the limit and how to change it', () => {
    expect(exceededLimits({ packages: 15, settings: 80 }, { packages: 14, settings: 80 })).toEqual([
      'packages: 15, 1 over the limit of 14. Remove as much elsewhere, or raise the limit in scripts/budget.json in the ' +
        'same commit, with the reason in its message.',
    ]);
  });

  test('a figure without a limit fails, and a limit without a figure', () => {
    expect(exceededLimits({ packages: 14 }, { folders: 3 })).toEqual([
      'packages: 14, without a limit; add one to scripts/budget.json',
      'folders: not a figure; remove it from scripts/budget.json',
    ]);
  });

  describe('figures', () => {
    let root: string;
    beforeEach(() => {
      root = mkdtempSync(join(tmpdir(), 'rms-budget-'));
    });
    afterEach(() => rmSync(root, { recursive: true }));

    /** Figures of a repository with these files that differ from an empty one's. */
    const figuresOf = (texts: Record<string, string>) => {
      for (const [file, text] of Object.entries(texts)) {
        mkdirSync(dirname(join(root, file)), { recursive: true });
        writeFileSync(join(root, file), text);
      }
      const figures = Object.entries(countFigures(root, Object.keys(texts)));
      return Object.fromEntries(figures.filter(([, figure]) => figure !== 0));
    };
    const lines = (count: number) => 'f();\n'.repeat(count);

    test.each<[string, Record<string, string>, Record<string, number>]>([
      [
        'lines are neither blank nor comments; tests and generated code are apart',
        {
          'services/a/src/a.ts': '// a\n\n/**\n * b\n */\nf();\n  // c\n  g(); // d\n',
          'services/a/test/a.test.ts': 'f();\n',
          'packages/testkit/src/a.ts': 'f();\n',
          'packages/proto/gen/a.ts': 'f();\n',
          'services/a/src/a.sql': 'select 1;\n',
        },
        { 'product lines': 2, 'test lines': 2 },
      ],
      ['packages', { 'packages/a/package.json': '{}', 'services/b/package.json': '{}' }, { packages: 1 }],
      [
        'settings',
        {
          'packages/runtime/src/settings/settings-table.ts': "t = {\n  HOST: s(\n    'A: b',\n  ),\n  PORT: s(),\n};\n",
        },
        { settings: 2, 'product lines': 6 },
      ],
      [
        'named numbers of modules',
        { 'a.ts': "const a = 1_000;\nexport const b = 2 * 1024 ** 2;\nconst c = '3';\n  const d = 4;\nlet e = 5;\n" },
        { 'named number constants': 2, 'product lines': 5 },
      ],
      [
        'functions of 100 lines: of every kind, nested, and after characters of several bytes',
        {
          'a.ts':
            `const text = 'ääää';\nfunction a() {\n${lines(98)}}\nfunction b() {\n${lines(97)}}\n` +
            `class C {\n  d() {\n    return () => {\n${lines(98)}    };\n  }\n}\n`,
          'b.ts': `#!/usr/bin/env node\nconst b = {\n  c() {\n${lines(98)}  },\n};\n`,
        },
        { 'functions of 100 lines or more': 4, 'product lines': 407 },
      ],
      [
        'files that one file imports, apart from entries of packages and listed handlers',
        {
          'services/a/src/main.ts': "import './one.ts';\nimport { a } from './two.ts';\nimport './rpc/get-a.ts';\n",
          'services/a/src/one.ts': "export { a } from './two.ts';\n",
          'services/a/src/two.ts': "import type { B } from '../../b/src/three.ts';\n",
          'services/a/src/rpc/get-a.ts': "const a = await import('../four.ts');\n",
          'services/a/src/four.ts': 'f();\n',
          'services/b/src/three.ts': 'f();\n',
          'packages/c/src/index.ts': 'f();\n',
          'packages/c/src/d.ts': "import './index.ts';\n",
        },
        { 'files with one importer': 3, 'product lines': 10 },
      ],
      ['words of documents', { 'docs/a.md': '# One two\n\nthree\n', 'a.txt': 'four' }, { 'words of documents': 4 }],
    ])('%s', (_, texts, figures) => {
      expect(figuresOf(texts)).toEqual(figures);
    });
  });
});
