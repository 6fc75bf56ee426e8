/** Every internal link of the built site leads to an existing page and heading. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { folder, listHtml } from './built-site.ts'

interface Page {
  readonly links: readonly string[]
  readonly anchors: ReadonlySet<string>
}

const pages = new Map(listHtml().map((file) => [file, readPage(file)]))

function readPage(file: string): Page {
  const html = readFileSync(join(folder, file), 'utf8')
  const links = [...html.matchAll(/<a [^>]*?href="([^"]*)"/g)].map((match) => decode(match[1]!))
  const anchors = new Set([...html.matchAll(/ id="([^"]*)"/g)].map((match) => decode(match[1]!)))
  return { links, anchors }
}

function decode(text: string): string {
  return decodeURI(text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"'))
}

/** The target file and the anchor of a link. */
function resolve(from: string, link: string): [file: string, anchor: string | undefined] {
  const [path = '', anchor] = link.split('#')
  if (path === '') return [from, anchor]
  const target = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(from), path)
  return [target === '' || target.endsWith('/') ? `${target}index.html` : target, anchor]
}

test('the built site has pages with links between them', () => {
  expect(pages.size).toBeGreaterThan(100)
  expect([...pages.values()].flatMap(({ links }) => links).length).toBeGreaterThan(1000)
})

test('no link of the built site leads to a missing page', () => {
  const dead = [...pages].flatMap(([file, { links }]) =>
    links
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => !existsSync(join(folder, resolve(file, link)[0])))
      .map((link) => `${file} -> ${link}`),
  )
  expect([...new Set(dead)]).toEqual([])
})

test('no link of the built site leads to a missing heading', () => {
  const dead = [...pages].flatMap(([file, { links }]) =>
    links
      .filter((link) => !/^[a-z]+:/.test(link) && link.includes('#'))
      .filter((link) => {
        const [target, anchor] = resolve(file, link)
        const page = pages.get(target)
        return page !== undefined && anchor !== '' && !page.anchors.has(anchor!)
      })
      .map((link) => `${file} -> ${link}`),
  )
  expect([...new Set(dead)]).toEqual([])
})
