/** The pages and the files of their code belong together: whoever types what a page shows has the file of its step. */
import { expect, test } from 'vitest'
import { fileOf, pageNames, readPage } from './pages.ts'

const pages = pageNames.map(readPage)
const withCode = pages.filter(({ files }) => Object.keys(files).length > 0)

test('there is code for the pages that have some', () => {
  const named = pages.filter(({ blocks }) => blocks.some(({ language }) => language === 'ts')).map(({ name }) => name)
  expect(withCode.map(({ name }) => name)).toEqual(named)
})

test.each(withCode.map((page) => [page.name, page] as const))(
  '%s shows the lines of its files, as they are',
  (_, page) => {
    const strange = page.blocks.filter((block) => block.language === 'ts' && fileOf(page, block) === undefined)
    expect(strange.map(({ text }) => text)).toEqual([])
  },
)

test.each(withCode.map((page, at) => [page.name, page, withCode[at - 1]] as const))(
  '%s shows every line that is new in them',
  (_, page, before) => {
    const known = Object.values(before?.files ?? {})
      .join('\n')
      .split('\n')
    const shown = page.blocks.flatMap(({ text }) => text.split('\n'))
    const fresh = Object.values(page.files).flatMap((text) => text.split('\n'))
    expect(fresh.filter((line) => !known.includes(line) && !shown.includes(line))).toEqual([])
  },
)

test('each page leads to the one before and to the next', () => {
  for (const [at, { name, text }] of pages.entries()) {
    const end = text.trimEnd().split('\n').at(-1)!
    const before = pageNames[at - 1] ?? pageNames[1]
    expect([name, end]).toEqual([name, expect.stringContaining(`(${before}.md)`)])
    expect([name, end]).toEqual([name, expect.stringContaining(`(${pageNames[at + 1] ?? 'index'}.md)`)])
  }
})
