/** The page about tracing names all attributes of spans, and no others. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { attributes } from '../../src/tracing/attributes.ts'

test('the table of attributes in the docs has the attributes of the code', () => {
  const page = readFileSync('docs/operate/tracing.md', 'utf8')
  const [, table = ''] = page.split('<!-- attributes -->')
  const documented = [...table.matchAll(/^\| `([\w.]+)`/gm)].map(([, name]) => name!)
  expect(documented.toSorted()).toEqual(Object.values(attributes).toSorted())
})
