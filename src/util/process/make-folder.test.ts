import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kopf-make-folder-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a folder is created with its parents, and the outermost of them is returned', () => {
  expect(makeFolder(join(root, 'a/b/c'), 0o700)).toBe(join(root, 'a'))
  expect(statSync(join(root, 'a/b/c')).mode & 0o777).toBe(0o700)
})

test('a folder that exists is left unchanged', () => {
  expect(makeFolder(root)).toBeUndefined()
})

test.each([
  ['/proc/folder/deeper', 'ENOENT'],
  ['file', 'EEXIST'],
  ['file/folder', 'ENOTDIR'],
  ['dangling/folder', 'ENOENT'],
])('the folder %s cannot be created, which is an error with the code %s', (name, code) => {
  writeFileSync(join(root, 'file'), '')
  symlinkSync('nothing', join(root, 'dangling'))
  const path = name.startsWith('/') ? name : join(root, name)
  expect(() => makeFolder(path)).toThrow(expect.objectContaining({ code }))
  expect(existsSync(path) && statSync(path).isDirectory()).toBe(false)
})
