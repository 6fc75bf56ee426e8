/** What is done to pages on their way to the site, so that their files can stay as they are read elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { MarkdownOptions } from 'vitepress'
import { resolveLink, root } from './pages.ts'

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/**
 * The search index calls with the path of the file only, pages with both; `realPath` is the one on disk. The title of a box
 * (`::: warning`) is rendered apart, with neither: links in titles stay as they are.
 */
interface Env {
  readonly path?: string
  readonly realPath?: string
}

function fileOf(env: Env): string {
  const path = env.realPath ?? env.path
  return path === undefined ? '' : relative(root, path).replaceAll('\\', '/')
}

/** Links from file to file become links from page to page. One to a file that the site does not have ends the build. */
export function mapLinks(md: Markdown): void {
  md.core.ruler.push('kopf-links', (state) => {
    const file = fileOf(state.env)
    if (file === '' || file.startsWith('docs/reference/api/')) return
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? token.attrGet('href') : null
      if (link === null || /^[a-z]+:|^#|^\//.test(link)) continue
      const address = resolveLink(file, link)
      if (address === undefined) throw new Error(`Cannot link from ${file} to "${link}": the site has no such page`)
      token.attrSet('href', address)
    }
  })
}

const languages: Readonly<Record<string, string>> = { ts: 'ts', yaml: 'yaml', json: 'json', mjs: 'js' }

/** An example is its README and its files: where there is no repository to look them up in, the page shows them. */
export function showExampleFiles(md: Markdown): void {
  md.core.ruler.before('normalize', 'kopf-examples', (state) => {
    const folder = /^((?:examples|cookbook)(?:\/[^/]+)?)\/README\.md$/.exec(fileOf(state.env))?.[1]
    if (folder === undefined) return
    // The folder of all examples has files of its own; what is further down is on other pages.
    const recursive = folder.includes('/')
    const names = readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
      .filter(
        (name) =>
          extensionOf(name) in languages && !/tsconfig\.json$|package-lock\.json$|node_modules|dist\//.test(name),
      )
      .map((name) => name.replaceAll('\\', '/'))
      .sort()
    const files = names.map((name) => {
      const text = readFileSync(join(root, folder, name), 'utf8').trimEnd()
      return `## ${name}\n\n\`\`\`${languages[extensionOf(name)]}\n${text}\n\`\`\`\n`
    })
    state.src = `${state.src.trimEnd()}\n\n${files.join('\n')}`
  })
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
