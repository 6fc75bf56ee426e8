import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDirectory } from './directory.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-directory-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a link that was planted in the data directory does not redirect what is kept there', () => {
  const data = join(folder, 'data')
  mkdirSync(data)
  writeFileSync(join(folder, 'victim'), 'untouched')
  symlinkSync('../victim', join(data, 'kopf-data.draft'))
  symlinkSync('../victim', join(data, 'key.keep.draft'))
  const directory = openDirectory(data)
  directory.put('key', 'secret')
  directory.close()
  expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('untouched')
  expect(directory.get('key')).toBe('secret')
  expect(statSync(join(data, 'key.keep')).mode & 0o777).toBe(0o600)
})
