/** The documentation site: `npm run docs` builds it, `npm run docs:dev` shows it while it is written. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vitepress'
import { home } from './home.ts'
import { mapLinks, showExampleFiles } from './markdown.ts'
import { createSidebar } from './navigation.ts'
import { pageOf, root, toAnchor } from './pages.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const repository = 'https://github.com/OWNER/kopf'

// biome-ignore lint/style/noDefaultExport: vitepress looks for it.
export default defineConfig({
  title: 'kopf for TypeScript',
  description: 'Kubernetes operators in a few lines of TypeScript, and an embedded API server to run and test them',
  lang: 'en',
  // The pages of examples/ and of the root belong to the site, too.
  srcDir: '..',
  srcExclude: ['README.md', '{src,test,tools,templates,packages,.github}/**', 'bench/*/**', '**/node_modules/**'],
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
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath === 'index.md') return { frontmatter: home }
    // API pages are generated: there is no file to edit.
    return relativePath.startsWith('reference/api/') ? { frontmatter: { ...frontmatter, editLink: false } } : undefined
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/getting-started', activeMatch: '^/guide/' },
      { text: 'Tutorial', link: '/tutorial/', activeMatch: '^/tutorial/' },
      { text: 'Cookbook', link: '/cookbook/', activeMatch: '^/(cookbook|examples)/' },
      { text: 'Operate', link: '/operate/deploying', activeMatch: '^/operate/' },
      { text: 'Reference', link: '/reference/handlers-and-options', activeMatch: '^/reference/' },
      { text: 'From Kopf', link: '/from-kopf/', activeMatch: '^/from-kopf/' },
      {
        text: `v${version}`,
        items: [
          { text: 'Changes', link: '/changes' },
          { text: 'Versions and support', link: '/about/versioning' },
          { text: 'Examples', link: '/examples/' },
          { text: 'API of the package', link: '/reference/api/' },
          { text: 'Contributing', link: '/contributing' },
        ],
      },
    ],
    sidebar: createSidebar(),
    outline: { level: [2, 3] },
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // Pages that explain come before generated pages and before records of decisions. The function is copied into the page as text, so it
            // uses nothing from outside.
            boostDocument: (id: string) => {
              if (/^\/(guide|tutorial)\//.test(id)) return 3
              if (/^\/(operate|cookbook|from-kopf)\//.test(id)) return 2.5
              if (/^\/reference\/api\//.test(id)) return 0.3
              if (/^\/(decisions|changes|reference\/source-files)/.test(id)) return 0.4
              return 1
            },
          },
        },
      },
    },
    footer: { message: `kopf for TypeScript ${version}, MIT licensed.` },
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
