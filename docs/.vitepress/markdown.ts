/** Changes that the site makes to the Markdown of a page: links to other files become links to pages, and examples show their files. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { MarkdownOptions } from 'vitepress'
import { resolveLink, root } from './pages.ts'

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/**
 * `realPath` is the path on disk. The search index passes only `path`, a page passes both. The title of a box (`::: warning`) is rendered
 * with neither, so links in titles are not changed.
 */
interface Env {
  readonly path?: string
  readonly realPath?: string
}

function fileOf(env: Env): string {
  const path = env.realPath ?? env.path
  return path === undefined ? '' : relative(root, path).replaceAll('\\', '/')
}

/** Links between files become links between pages. A link to a file that does not exist fails the build. */
export function mapLinks(md: Markdown): void {
  md.core.ruler.push('kopf-links', (state) => {
    const file = fileOf(state.env)
    if (file === '' || file.startsWith('docs/reference/api/')) return
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? token.attrGet('href') : null
      if (link === null || /^[a-z]+:|^#|^\//.test(link)) continue
      const address = resolveLink(file, link)
      if (address === undefined) throw new Error(`Cannot link from ${file} to "${link}": there is no such page or file`)
      token.attrSet('href', address)
    }
  })
}

/**
 * Marks paragraphs that contain only a diagram. On narrow windows such a paragraph scrolls, so it must be reachable with the keyboard (WCAG
 * 2.1.1).
 */
export function markDiagrams(md: Markdown): void {
  md.core.ruler.push('kopf-diagrams', (state) => {
    for (const [index, token] of state.tokens.entries()) {
      const [image, ...others] = state.tokens[index + 1]?.children ?? []
      const isDiagram =
        image?.type === 'image' && others.length === 0 && image.attrGet('src')?.endsWith('.svg') === true
      if (token.type !== 'paragraph_open' || !isDiagram) continue
      token.attrSet('class', 'diagram')
      token.attrSet('tabindex', '0')
    }
  })
}

const languages: Readonly<Record<string, string>> = { ts: 'ts', yaml: 'yaml', json: 'json', mjs: 'js' }

/** Adds the files of an example or a cookbook project to the page of its README. */
export function showExampleFiles(md: Markdown): void {
  md.core.ruler.before('normalize', 'kopf-examples', (state) => {
    const folder = /^((?:examples|cookbook)(?:\/[^/]+)?)\/README\.md$/.exec(fileOf(state.env))?.[1]
    if (folder === undefined) return
    // The page of examples/ shows only the files directly in it: each example has its own page.
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
