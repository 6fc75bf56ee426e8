import { SourceMap } from 'node:module'
import { transformSync } from 'esbuild'
import { expect, test } from 'vitest'
import { compactMappings } from './compact-mappings.ts'

const lines = Array.from(
  { length: 40 },
  (_, index) => `export const a${index} = [${index}, { b: ${index} }, (c) => c.d + ${index}]`,
)
const byLine = { version: 3, sources: ['lines.js'], mappings: `AAAA${';AACA'.repeat(lines.length - 1)}` }
const source = `${lines.join('\n')}\n//# sourceMappingURL=data:application/json,${encodeURIComponent(JSON.stringify(byLine))}`
const { code, map } = transformSync(source, {
  minifyWhitespace: true,
  lineLimit: 200,
  sourcemap: 'external',
  sourcesContent: false,
  sourcefile: 'lines.js',
})
const payload = JSON.parse(map)

test('compacted mappings lead to the same lines from every position', () => {
  const original = new SourceMap(payload)
  const compacted = new SourceMap({ ...payload, mappings: compactMappings(payload.mappings) })
  const lineAt = (one: SourceMap, line: number, column: number) =>
    (one.findEntry(line, column) as { originalLine?: number }).originalLine
  for (const [line, text] of code.split('\n').entries()) {
    for (let column = 0; column < text.length; column += 1)
      expect([line, column, lineAt(compacted, line, column)]).toEqual([line, column, lineAt(original, line, column)])
  }
})

test('compacted mappings have one segment for each line of the source and of the program', () => {
  const segments = compactMappings(payload.mappings).split(/[;,]/).filter(Boolean)
  expect(segments.length).toBeLessThanOrEqual(lines.length + code.split('\n').length)
})
