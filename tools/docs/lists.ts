/** Lists of the decisions and of the pages as Markdown. Titles come from the files themselves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { titleOf } from '../../docs/.vitepress/pages.ts'
import { sections } from '../../docs/.vitepress/sidebar.ts'

const root = new URL('../..', import.meta.url)

export function listDecisions(): string {
  const names = readdirSync(new URL('docs/decisions/', root)).filter((name) => /^\d{4}-.*\.md$/.test(name))
  return names
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(`docs/decisions/${name}`, root), 'utf8')
      return `- [${/^# (.*)$/m.exec(text)?.[1]}](${name})`
    })
    .join('\n')
}

/** The sidebar of the site as paragraphs, for people who read the Markdown files in the repository. */
export function listContents(): string {
  const isThere = (file: string) => existsSync(new URL(file, root))
  const paragraphs = sections.map(({ title, pages }) => {
    const links = pages
      .map((page) => (typeof page === 'string' ? [`${page}.md`] : [`${page[0]}.md`, page[1]]))
      .filter(([file]) => isThere(file!))
      .map(([file, short]) => `[${short ?? titleOf(file!)}](${posix.relative('docs', file!)})`)
    return links.length === 0 ? [] : [`**${title}.** ${links.join(' · ')}`]
  })
  return [...paragraphs.flat(), '**Examples.** [Folders to run](../examples/README.md), each for one idea.'].join(
    '\n\n',
  )
}
