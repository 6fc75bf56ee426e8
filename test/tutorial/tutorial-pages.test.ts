/** The code on the tutorial pages is that of the files in examples/tutorial: a reader who types it has the file of that step. */
import { expect, test } from 'vitest'
import { fileOf, pageNames, readPage } from './tutorial-pages.ts'

const pages = pageNames.map(readPage)
const withCode = pages.filter(({ files }) => Object.keys(files).length > 0)

test('every tutorial page with code has files for its step', () => {
  const named = pages.filter(({ blocks }) => blocks.some(({ language }) => language === 'ts')).map(({ name }) => name)
  expect(withCode.map(({ name }) => name)).toEqual(named)
})

test.each(withCode.map((page) => [page.name, page] as const))(
  'the tutorial page %s shows the code of its files unchanged',
  (_, page) => {
    const strange = page.blocks.filter((block) => block.language === 'ts' && fileOf(page, block) === undefined)
    expect(strange.map(({ text }) => text)).toEqual([])
  },
)

test.each(withCode.map((page, at) => [page.name, page, withCode[at - 1]] as const))(
  'the tutorial page %s shows every new line of its files',
  (_, page, before) => {
    const known = Object.values(before?.files ?? {})
      .join('\n')
      .split('\n')
    const shown = page.blocks.flatMap(({ text }) => text.split('\n'))
    const fresh = Object.values(page.files).flatMap((text) => text.split('\n'))
    expect(fresh.filter((line) => !known.includes(line) && !shown.includes(line))).toEqual([])
  },
)

test('every tutorial page links to the previous and to the next page', () => {
  for (const [at, { name, text }] of pages.entries()) {
    const end = text.trimEnd().split('\n').at(-1)!
    const before = pageNames[at - 1] ?? pageNames[1]
    expect([name, end]).toEqual([name, expect.stringContaining(`(${before}.md)`)])
    expect([name, end]).toEqual([name, expect.stringContaining(`(${pageNames[at + 1] ?? 'index'}.md)`)])
  }
})
