/** Every TypeScript block of the README and of docs/ is compiled, and run. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const pages = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => join('docs', path)),
]
  .filter((path) => path.endsWith('.md'))
  .sort()

const blocks = pages.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^```ts\n(.*?)^```/gms)].map((match, index) => ({
    name: `${page}, block ${index + 1}`,
    file: `${page.replace(/\W+/g, '-')}-${index + 1}.ts`,
    // A fragment that shows a shape and imports nothing is prose.
    code: match[1]!,
  })),
)
const programs = blocks.filter(({ code }) => code.includes('import '))

/** Inside the project, so that `kopf` means this package; git does not look there. */
const folder = join('.docs', String(process.pid))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of programs) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  const compilerOptions = { isolatedDeclarations: false, declaration: false, rootDir: '../..' }
  const tsconfig = { extends: '../../tsconfig.json', compilerOptions, include: ['./*.ts'], exclude: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('there are programs in the docs', () => {
  expect(programs.length).toBeGreaterThan(3)
})

test('all of them compile', async () => {
  const compiled = run(join('node_modules', '.bin', 'tsc'), ['-p', folder]).catch((error: { stdout: string }) => error)
  expect((await compiled).stdout).toBe('')
})

describe('runs to its end', () => {
  test.each(programs.map(({ name, file }) => [name, file]))('%s', async (_, file) => {
    const { stderr } = await run(process.execPath, ['--import', 'tsx', '--conditions=source', join(folder, file)])
    expect(stderr).toBe('')
  })
})

test('no link leads nowhere', () => {
  const dead = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .map((match) => join(page, '..', match[1]!))
      .filter((target) => !exists(target))
      .map((target) => `${page} -> ${target}`),
  )
  expect(dead).toEqual([])
})

function exists(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR'
  }
}
