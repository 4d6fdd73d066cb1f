// The documentation site: the Markdown files of the repository as static pages with a local search. `npm run docs`.
import { fileURLToPath } from 'node:url';
import { headingSlug } from '../../../scripts/lib/heading-slug.mjs';

export default {
  title: 'rms',
  description: 'Resource Management Service: a REST API with keys, limits and idempotency, and signed webhooks',
  lang: 'en',
  srcDir: '../..',
  srcExclude: ['**/node_modules/**', '**/dist/**', '.data/**', 'coverage/**', 'test-results/**'],
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: headingSlug },
    config: (md) => md.core.ruler.push('repository', adapt),
  },
  // Folder of the host that serves the site, with slashes at both ends.
  base: process.env.DOCS_BASE ?? '/',
  vite: {
    // The pages are outside the folder with Vue in its node_modules. The renderer is its module without the compiler,
    // which would find packages of the repository's root.
    resolve: {
      alias: [
        { find: /^vue$/, replacement: fileOf('vue/dist/vue.runtime.esm-bundler.js') },
        {
          find: /^vue\/server-renderer$/,
          replacement: fileOf('@vue/server-renderer/dist/server-renderer.esm-bundler.js'),
        },
      ],
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Quick start', link: '/#quick-start' },
      { text: 'Documents', link: '/docs/' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: [
      section('Using rms', {
        'What is rms?': '/',
        Comparison: '/docs/comparison',
        'API guide': '/docs/api-guide',
        'Webhooks and deliveries': '/docs/webhooks',
        'Receiving webhooks': '/docs/webhook-receivers',
        Portal: '/docs/portal',
        'Error codes': '/docs/errors',
        Dashboard: '/docs/dashboard',
        'Users and sign-in': '/docs/users',
        'Usage and alerts': '/docs/alerts',
        'The rms command': '/docs/cli',
        'Client libraries': '/docs/clients',
        'TypeScript client': '/clients/typescript/',
        'Python client': '/clients/python/',
      }),
      section('Operating rms', {
        Installation: '/docs/installation',
        'Helm chart': '/deploy/helm/rms/',
        Settings: '/docs/settings',
        Sizing: '/docs/sizing',
        Stores: '/docs/stores',
        'Backup, keys and deletion': '/docs/backup',
        Runbook: '/docs/operations',
        Metrics: '/docs/metrics',
        Objectives: '/docs/slo',
        'Limits of a tenant': '/docs/limits',
        'Security model': '/docs/security-model',
        Compatibility: '/docs/compatibility',
        Upgrading: '/docs/upgrading',
      }),
      section('Developing rms', {
        Contributing: '/CONTRIBUTING',
        'Development guide': '/docs/development',
        Architecture: '/ARCHITECTURE',
        'Decision records': '/docs/adr/',
        Performance: '/docs/performance',
        'Comparison benchmark': '/docs/comparison-benchmark',
        'Rules of the API': '/test/RULES',
        Releasing: '/docs/releasing',
        Glossary: '/docs/glossary',
      }),
    ],
  },
};

function fileOf(name) {
  return fileURLToPath(import.meta.resolve(name));
}

function section(text, pages) {
  return { text, items: Object.entries(pages).map(([name, link]) => ({ text: name, link })) };
}

/** Adapts a repository file: links to a README point to its page, and links to files that are not pages are removed. */
function adapt({ tokens }) {
  for (const block of tokens) {
    // The highlighter does not know this language.
    if (block.type === 'fence' && block.info === 'promql') block.info = 'txt';
    let removed = false;
    for (const token of block.children ?? []) {
      if (token.type === 'link_close' && removed) {
        token.tag = 'span';
        removed = false;
      }
      if (token.type !== 'link_open') continue;
      const href = token.attrGet('href') ?? '';
      if (/^(?:[a-z][a-z+.-]*:|#)/i.test(href)) continue;
      if (/\.md(?:#|$)/.test(href)) {
        token.attrSet('href', href.replace(/(^|\/)README\.md/, '$1index.md'));
        continue;
      }
      removed = true;
      token.type = 'span_open';
      token.tag = 'span';
      token.attrs = null;
    }
  }
}
