/** The sidebars: one for the manual, and separate ones for the examples, the cookbook, the decisions and the API. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'
import { apiFolder, listExamples, pageOf, root, titleOf } from './pages.ts'
import { type Section, sections } from './sidebar.ts'

export function createSidebar(): DefaultTheme.SidebarMulti {
  const manual = sections.map(toSidebar)
  return {
    '/': manual,
    '/decisions/': [toGroup('Decisions', listDecisions()), ...manual],
    '/examples/': [
      { text: 'Examples', link: '/examples/', items: listExamples().map((name) => toExample(name, 'examples')) },
    ],
    '/cookbook/': [
      {
        text: 'Cookbook',
        link: '/cookbook/',
        items: listExamples('cookbook').map((name) => toExample(name, 'cookbook')),
      },
    ],
    '/reference/api/': listApi(),
  }
}

function toSidebar({ title, isCollapsed, pages }: Section): DefaultTheme.SidebarItem {
  const items = pages
    .map((page) => (typeof page === 'string' ? { file: `${page}.md` } : { file: `${page[0]}.md`, title: page[1] }))
    .filter(({ file }) => existsSync(join(root, file)))
    .map(({ file, title }) => ({ text: title ?? titleOf(file), link: linkOf(file) }))
  return toGroup(title, items, isCollapsed)
}

/** A group links to its first page. Without a link, the theme nests a button in a button, which screen readers cannot use. */
function toGroup(text: string, items: DefaultTheme.SidebarItem[], isCollapsed = false): DefaultTheme.SidebarItem {
  const { link, text: docFooterText } = items[0] ?? {}
  const toFirstPage = link === undefined || docFooterText === undefined ? {} : { link, docFooterText }
  return { text, items, collapsed: isCollapsed, ...toFirstPage }
}

function toExample(name: string, folder: string): DefaultTheme.SidebarItem {
  return { text: titleOf(`${folder}/${name}/README.md`), link: linkOf(`${folder}/${name}/README.md`) }
}

function listDecisions(): DefaultTheme.SidebarItem[] {
  const names = readdirSync(join(root, 'docs', 'decisions')).filter((name) => /^\d/.test(name))
  return names
    .sort()
    .map((name) => ({ text: titleOf(`docs/decisions/${name}`), link: linkOf(`docs/decisions/${name}`) }))
}

const kinds: Readonly<Record<string, string>> = {
  classes: 'Classes',
  functions: 'Functions',
  variables: 'Values',
  interfaces: 'Interfaces',
  'type-aliases': 'Types',
}

/** Reads the folders that typedoc has written: one for each entry of the package, with a folder for each type of export. */
function listApi(): DefaultTheme.SidebarItem[] {
  const entries = ['kopf', 'kopf/server', 'kopf/testing', 'kopf/webhooks']
  return entries.map((entry, index) => {
    const groups = Object.entries(kinds).map(([kind, text]) => {
      const folder = join(root, apiFolder, entry, kind)
      const names = existsSync(folder) ? readdirSync(folder).map((name) => name.replace(/\.md$/, '')) : []
      const items = names
        .sort()
        .map((name) => ({ text: name.replace(/_$/, ''), link: `/reference/api/${entry}/${kind}/${name}` }))
      return toGroup(text, items, index > 0 || kind === 'interfaces' || kind === 'type-aliases')
    })
    return { text: entry, link: `/reference/api/${entry}/`, items: groups.filter(({ items = [] }) => items.length > 0) }
  })
}

function linkOf(file: string): string {
  return `/${pageOf(file)!
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '')}`
}
