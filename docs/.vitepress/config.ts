/** The documentation site: `npm run docs` builds it, `npm run docs:dev` shows it while it is written. */
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vitepress'
import { home } from './home.ts'
import { mapLinks, showExampleFiles } from './markdown.ts'
import { createSidebar } from './navigation.ts'
import { pageOf, root, toAnchor } from './pages.ts'

// biome-ignore lint/style/noDefaultExport: vitepress looks for it.
export default defineConfig({
  title: 'kopf for TypeScript',
  description: 'Kubernetes operators in a few lines of TypeScript, and an embedded API server to run and test them',
  lang: 'en',
  // The pages of examples/ and of the root belong to the site, too.
  srcDir: '..',
  srcExclude: ['README.md', '{src,test,tools,templates,packages}/**', 'bench/*/**'],
  rewrites: (file) => pageOf(file) ?? file,
  cacheDir: '.vitepress/cache',
  outDir: '.vitepress/dist',
  // The search index is one file, and loaded when it is first searched.
  vite: { plugins: [findVue()], build: { chunkSizeWarningLimit: 4000 } },
  markdown: {
    anchor: { slugify: toAnchor },
    config(md) {
      showExampleFiles(md)
      mapLinks(md)
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  transformPageData: ({ relativePath }) => (relativePath === 'index.md' ? { frontmatter: home } : undefined),
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/getting-started', activeMatch: '^/guide/' },
      { text: 'Reference', link: '/reference/handlers-and-options', activeMatch: '^/reference/(?!api/)' },
      { text: 'API', link: '/reference/api/', activeMatch: '^/reference/api/' },
      { text: 'Examples', link: '/examples/', activeMatch: '^/examples/' },
    ],
    sidebar: createSidebar(),
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    footer: { message: 'MIT licensed.' },
  },
})

/** What builds the site is installed in docs/, where pages outside of it do not look. */
function findVue(): Plugin {
  const within = join(root, 'docs', 'index.md')
  return {
    name: 'kopf-find-vue',
    enforce: 'pre',
    resolveId(id, importer, { ssr }) {
      if (!/^vue(\/|$)/.test(id)) return
      if (ssr) return { id, external: true }
      const isOutside = importer?.startsWith(root) && !importer.startsWith(join(root, 'docs'))
      return isOutside ? this.resolve(id, within, { skipSelf: true }) : undefined
    },
  }
}
