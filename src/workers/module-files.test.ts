import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { describeModule, findModule, nameOf } from './module-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'kopf modules-'))
for (const name of ['source.ts', 'built.js', 'both.ts', 'both.js', 'old.cjs']) writeFileSync(join(folder, name), '')
afterAll(() => rmSync(folder, { recursive: true }))

const path = (name: string) => join(folder, name)
const url = (name: string) => pathToFileURL(path(name))

test.each([
  ['source.ts', 'source.ts'],
  ['source.js', 'source.ts'],
  ['built.ts', 'built.js'],
  ['both.ts', 'both.ts'],
  ['both.js', 'both.js'],
  ['old.cts', 'old.cjs'],
])('the module %s is found as %s, since sources and compiled files share one address', (given, found) => {
  expect(findModule(url(given)).href).toBe(url(found).href)
  expect(findModule(url(given).href).href).toBe(url(found).href)
  expect(findModule(path(given)).href).toBe(url(found).href)
})

test.each([
  [path('nowhere.ts'), 'there is no such file'],
  [path('source.mjs'), 'there is no such file'],
  ['./source.ts', 'expected the address of a file'],
  ['kopf', 'expected the address of a file'],
  ['https://example.com/source.ts', 'expected the address of a file'],
  [undefined as unknown as string, 'expected the address of a file'],
])('the module %s is refused', (given, why) => {
  expect(() => findModule(given)).toThrow(why)
})

test('a handler in a module is named after its export, or after the file', () => {
  const module = { url: url('source.ts').href, exportName: 'default' }
  expect(nameOf(module)).toBe('source')
  expect(nameOf({ ...module, exportName: 'resize' })).toBe('resize')
  expect(describeModule(module)).toBe('"source.ts"')
  expect(describeModule({ ...module, exportName: 'resize' })).toBe('"resize" of "source.ts"')
})
