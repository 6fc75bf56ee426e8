/** What is in the package, and what an import of it costs, in counts. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { Project } from './project.ts'

const modules = join(inject('project'), 'node_modules')
const files = readdirSync(join(modules, 'kopf'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name).slice(join(modules, 'kopf/').length))

describe('installed', () => {
  test('it takes up no more than 15 MB, with all that it needs', () => {
    const kilobytes = Number.parseInt(execFileSync('du', ['-sk', modules], { encoding: 'utf8' }), 10)
    expect(kilobytes).toBeGreaterThan(10_000)
    expect(kilobytes).toBeLessThanOrEqual(15 * 1024)
  })

  test('it needs nothing but the compiler for operators in TypeScript', () => {
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['@esbuild', 'esbuild', 'kopf'])
  })

  test('it is a few files: programs, types, a template', () => {
    expect(files.length).toBeLessThan(250)
    expect(files.filter((file) => /\.(map|test\.[jt]s)$/.test(file))).toEqual(['templates/operator/operator.test.ts'])
    const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    expect(sources).toEqual(['templates/operator/operator.test.ts', 'templates/operator/operator.ts'])
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
        'SECURITY.md',
        'peering.yaml',
        'dist/sbom.cdx.json',
      ]),
    )
  })

  test('the licence of every library that is in it is kept', () => {
    const licences = readFileSync(join(modules, 'kopf/dist/THIRD-PARTY-LICENSES'), 'utf8')
    const libraries = files.filter((file) => file.startsWith('dist/libraries/'))
    expect(libraries.length).toBeGreaterThan(4)
    const packages = ['@noble/hashes', '@peculiar/x509', 'asn1js', 'commander', 're2js', 'reflect-metadata', 'tsyringe']
    for (const name of [...packages, 'yaml']) expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
    expect(licences).toContain('Permission is hereby granted, free of charge')
  })
})

/** Every file that Node loads, in their order, by the name of the package and the path in it. */
async function loadedBy(...args: string[]): Promise<string[]> {
  using project = Project.withKopf()
  project.write({
    'spy.mjs': `import { register } from 'node:module'\nregister('./hooks.mjs', import.meta.url)\n`,
    'hooks.mjs': `import { appendFileSync } from 'node:fs'
export const load = (url, context, next) => {
  appendFileSync('loaded', url + '\\n')
  return next(url, context)
}
`,
  })
  const { code, stderr } = await project.node('--import', './spy.mjs', ...args)
  expect([code, stderr]).toEqual([0, ''])
  const loaded = readFileSync(join(project.path, 'loaded'), 'utf8').split('\n')
  return loaded.filter((url) => url.includes('/node_modules/')).map((url) => url.split('/node_modules/').at(-1)!)
}

const importing = (entry: string) => ['--input-type=module', '--eval', `await import('${entry}')`]
const isServer = (file: string) => /\/server[-/]|re2js|definitions|engine/.test(file)
const isLater = (file: string) => /x509|yaml|reflect|commander|command-/.test(file)

describe('loads few files, and none that there is no use for', { timeout: 60_000 }, () => {
  test.each([
    ['kopf', 8, isServer],
    ['kopf/webhooks', 8, isServer],
    ['kopf/server', 8, (file: string) => /operator-|client-/.test(file)],
    ['kopf/testing', 12, () => false],
  ])('%s', async (entry, most, isForeign) => {
    const loaded = await loadedBy(...importing(entry))
    expect(loaded.length).toBeGreaterThan(1)
    expect(loaded.length).toBeLessThanOrEqual(most)
    expect(loaded.filter((file) => isForeign(file) || isLater(file))).toEqual([])
  })

  test('kopf --help', async () => {
    const loaded = await loadedBy('node_modules/kopf/dist/cli/main.js', '--help')
    expect(loaded).toContain('kopf/dist/libraries/commander.js')
    expect(loaded.length).toBeLessThanOrEqual(8)
    expect(loaded.filter((file) => isServer(file) || /operator-|client-|x509|yaml/.test(file))).toEqual([])
  })
})

describe('imported', () => {
  test.each(['kopf', 'kopf/server', 'kopf/testing', 'kopf/webhooks'])(
    '%s has the names of the sources',
    async (entry) => {
      using project = Project.withKopf()
      const program = `const all = await import('${entry}')
console.log(JSON.stringify(Object.entries(all).map(([key, value]) => [key, String(value).startsWith('class') ? value.name : key])))`
      const { stdout, stderr } = await project.node('--input-type=module', '--eval', program)
      expect(stderr).toBe('')
      const names = Object.keys(await import(entry)).sort()
      // Errors are called by their classes, and users read it.
      expect(JSON.parse(stdout).sort()).toEqual(names.map((name) => [name, name]))
    },
  )

  test('it can also be required', async () => {
    using project = Project.withKopf()
    project.write({ 'main.cjs': `console.log(typeof require('kopf').Operator)` })
    expect(await project.node('main.cjs')).toMatchObject({ code: 0, stdout: 'function\n' })
  })
})

test('what is started by its path is there', () => {
  const names = [
    'cli/main',
    'cli/compile-process',
    'cli/dev/operator-process',
    'features/workers/thread',
    'util/loop-guard-thread',
  ]
  const programs = names.map((name) => `kopf/dist/${name}.js`)
  expect(programs.filter((path) => !existsSync(join(modules, path)))).toEqual([])
})
