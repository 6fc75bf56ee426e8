import { execFileSync } from 'node:child_process'
import {
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { replaceFile } from './replace-file.ts'

let folder: string
const at = (name: string) => join(folder, name)
const replacement = { text: 'new', mode: 0o600 }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-replace-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Root can change the owner of a link; other users find a link of root in /dev. */
function linkOfAnotherUser(): string {
  if (process.geteuid!() !== 0) return '/dev/stdout'
  writeFileSync(at('victim'), 'old')
  symlinkSync(at('victim'), at('planted'))
  lchownSync(at('planted'), 65_534, 65_534)
  return at('planted')
}

test('a file is replaced with the given permissions, and no temporary file is left behind', async () => {
  writeFileSync(at('file'), 'old', { mode: 0o644 })
  await replaceFile(at('file'), replacement)
  expect([readFileSync(at('file'), 'utf8'), statSync(at('file')).mode & 0o777]).toEqual(['new', 0o600])
  expect(readdirSync(folder)).toEqual(['file'])
})

test('a symbolic link of this user is kept, and its target is replaced', async () => {
  mkdirSync(at('dotfiles'))
  writeFileSync(at('dotfiles/config'), 'old')
  symlinkSync('dotfiles/config', at('config'))
  await replaceFile(at('config'), replacement)
  expect(lstatSync(at('config')).isSymbolicLink()).toBe(true)
  expect(readFileSync(at('dotfiles/config'), 'utf8')).toBe('new')
  expect(readdirSync(at('dotfiles'))).toEqual(['config'])
})

test('a symbolic link of another user is not followed', async () => {
  await expect(replaceFile(linkOfAnotherUser(), replacement)).rejects.toThrow('a link that belongs to another user')
  if (process.geteuid!() === 0) expect(readFileSync(at('victim'), 'utf8')).toBe('old')
})

test('a symbolic link of this user to a file of another user is refused', async () => {
  const foreign = process.geteuid!() === 0 ? at('foreign') : '/etc/passwd'
  if (foreign === at('foreign')) {
    writeFileSync(foreign, 'old')
    lchownSync(foreign, 65_534, 65_534)
  }
  symlinkSync(foreign, at('link'))
  await expect(replaceFile(at('link'), replacement)).rejects.toThrow('a link to a file that belongs to another user')
})

test('a dangling symbolic link is refused', async () => {
  symlinkSync(at('nothing'), at('link'))
  await expect(replaceFile(at('link'), replacement)).rejects.toThrow('a link to a file that does not exist')
  expect(readdirSync(folder)).toEqual(['link'])
})

test('a pipe is refused at once', async () => {
  execFileSync('mkfifo', [at('pipe')])
  await expect(replaceFile(at('pipe'), replacement)).rejects.toThrow('not a regular file')
})

test('a file that the check refuses stays unchanged', async () => {
  writeFileSync(at('file'), 'old')
  const check = (present: string) => {
    throw new Error(`found ${present}`)
  }
  await expect(replaceFile(at('file'), { ...replacement, check })).rejects.toThrow('found old')
  expect(readFileSync(at('file'), 'utf8')).toBe('old')
  expect(readdirSync(folder)).toEqual(['file'])
})
