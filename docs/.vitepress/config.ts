/** The documentation site: `npm run docs` builds it, `npm run docs:dev` serves it and shows changes at once. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vitepress'
import { home } from './home.ts'
import { mapLinks, markDiagrams, showExampleFiles } from './markdown.ts'
import { createSidebar } from './navigation.ts'
import { pageOf, repository, root, toAnchor } from './pages.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** The letter K. As a data URI, it needs no request. */
const logo = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5fad"/><path d="M10 7v18M10 17 21 7M14 13.5 22 25" fill="none" stroke="#fff" stroke-width="3.6" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)}`

const removeLastSlash =
  "if (/.\\/$/.test(location.pathname)) location.replace(location.pathname.slice(0, -1) + '.html' + location.search + location.hash)"

// biome-ignore lint/style/noDefaultExport: vitepress looks for it.
export default defineConfig({
  title: 'kopf for TypeScript',
  description: 'Kubernetes operators in a few lines of TypeScript, and an embedded API server to run and test them',
  lang: 'en',
  head: [['link', { rel: 'icon', href: logo }]],
  // Pages in examples/, cookbook/ and the root of the repository are part of the site.
  srcDir: '..',
  srcExclude: ['README.md', '{src,test,tools,templates,packages,.github}/**', 'bench/*/**', '**/node_modules/**'],
  rewrites: (file) => pageOf(file) ?? file,
  cacheDir: '.vitepress/cache',
  outDir: '.vitepress/dist',
  // The search index is one large file. The browser loads it when the search is opened.
  vite: { plugins: [findVue()], build: { chunkSizeWarningLimit: 4000 } },
  markdown: {
    anchor: { slugify: toAnchor },
    config(md) {
      showExampleFiles(md)
      mapLinks(md)
      markDiagrams(md)
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  // A static host answers `/guide/handlers/` with the page for missing pages: the address of the page has no slash at its end.
  transformHead: ({ page }) => (page === '404.md' ? [['script', {}, removeLastSlash]] : []),
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath === 'index.md') return { frontmatter: home }
    // API pages are generated: there is no file to edit.
    return relativePath.startsWith('reference/api/') ? { frontmatter: { ...frontmatter, editLink: false } } : undefined
  },
  themeConfig: {
    logo,
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
              if (/^\/operate\//.test(id)) return 3.5
              if (/^\/(cookbook|from-kopf)\//.test(id)) return 2.5
              if (/^\/reference\/api\//.test(id)) return 0.3
              if (/^\/(decisions|changes|reference\/source-files)/.test(id)) return 0.4
              return 1
            },
          },
        },
      },
    },
    notFound: {
      title: 'Page not found',
      quote: 'The site has no page at this address. Search for its title, or begin with the overview.',
      linkText: 'All pages',
      linkLabel: 'The first page, with a list of all pages',
    },
    footer: { message: `kopf for TypeScript ${version}, MIT licensed.` },
  },
})

/** Vue is installed in docs/node_modules. Pages outside of docs/ do not find it there, so this plugin resolves it for them. */
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
