import { SourceMap } from 'node:module'
import { buildSync } from 'esbuild'
import { expect, test } from 'vitest'
import { removeRedundantNames } from './redundant-names.ts'

/** A module with functions, classes and names that differ from those of the source, and a string that looks like a call. */
const source = `
export function first(a) { return second(a) }
function second(b) {
  function inner(c) { throw new Error(c + b) }
  return inner(1)
}
export const third = () => [first, second].map((one) => one.name)
export class Fourth { run() { return first(2) } }
export const names = () => [first, second, third, Fourth].map(({ name }) => name)
export const text = '__name(first,"first");'
`

const [map, program] = buildSync({
  stdin: {
    contents: `${source}${source.replaceAll(/first|second|third|Fourth|names|text/g, '$&Again')}`,
    sourcefile: 'source.js',
  },
  bundle: true,
  keepNames: true,
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 100,
  format: 'esm',
  sourcemap: 'external',
  outfile: 'program.js',
  write: false,
}).outputFiles.map(({ text }) => text) as [string, string]
const payload = JSON.parse(map)
const before = { code: program, mappings: payload.mappings as string }

const importOf = (code: string) => import(`data:text/javascript,${encodeURIComponent(code)}`)

test('functions keep their names without the redundant calls', async () => {
  const { code } = removeRedundantNames(before, () => true)
  const calls = (text: string) => text.match(/__name\(\w+,"\w+"\)/g)?.length ?? 0
  expect(calls(before.code)).toBeGreaterThan(4)
  expect(calls(code)).toBeLessThan(calls(before.code) - 4)
  const [old, shorter] = await Promise.all([before.code, code].map(importOf))
  expect(shorter.names()).toEqual(['first', 'second', 'third', 'Fourth'])
  expect(shorter.names()).toEqual(old.names())
  expect(shorter.namesAgain()).toEqual(old.namesAgain())
})

test('code of others stays as it is', () => {
  expect(removeRedundantNames(before, () => false)).toEqual(before)
})

test('the source map leads from every remaining position to the same place as before', () => {
  const { code, mappings } = removeRedundantNames(before, () => true)
  const [old, shorter] = [before.mappings, mappings].map((text) => new SourceMap({ ...payload, mappings: text }))
  const placeAt = (one: SourceMap, line: number, column: number) => {
    const { originalLine, originalColumn } = one.findEntry(line, column) as Record<string, number>
    return [originalLine, originalColumn]
  }
  const lines = [before.code, code].map((text) => text.split('\n'))
  expect(lines[0]).toHaveLength(lines[1]!.length)
  for (const [index, line] of lines[1]!.entries()) {
    // Functions and errors stand for all code: they are where stack traces lead to.
    for (const { 0: word, index: column } of line.matchAll(/function \w+|Error|throw|class \w+/g)) {
      expect(placeAt(shorter!, index, column)).toEqual(placeAt(old!, index, lines[0]![index]!.indexOf(word)))
    }
  }
})
