/** The contents of the package, and the number of files that an import loads. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { Project } from './packed-project.ts'

const modules = join(inject('project'), 'node_modules')
const files = readdirSync(join(modules, 'kopf'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => join(parentPath, name).slice(join(modules, 'kopf/').length))

describe('the installed package', () => {
  test('the installed package takes at most 18 MB with its dependencies', () => {
    const kilobytes = Number.parseInt(execFileSync('du', ['-sk', modules], { encoding: 'utf8' }), 10)
    expect(kilobytes).toBeGreaterThan(10_000)
    expect(kilobytes).toBeLessThanOrEqual(18 * 1024)
  })

  test('the installed package has esbuild as its only dependency', () => {
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['@esbuild', 'esbuild', 'kopf'])
  })

  test('the installed package has few files: programs, types and a template', () => {
    expect(files.length).toBeLessThan(330)
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

  test('the installed package has the licences of all bundled libraries', () => {
    const licences = readFileSync(join(modules, 'kopf/dist/THIRD-PARTY-LICENSES'), 'utf8')
    const libraries = files.filter((file) => file.startsWith('dist/libraries/'))
    expect(libraries.length).toBeGreaterThan(3)
    for (const name of ['@noble/hashes', 'commander', 're2js', 'yaml'])
      expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
    expect(licences).toContain('Permission is hereby granted, free of charge')
  })
})

/** All files from packages that Node loads, in order, as package name and path. */
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
const isServer = (file: string) => /\/server[-/]|re2js|definitions|engine|kubernetes/.test(file)
const isLater = (file: string) => /yaml|commander|command-|dashboard|journal|-metrics|serving|exposition/.test(file)

describe('loaded files', { timeout: 60_000 }, () => {
  test.each([
    ['kopf', 8, isServer],
    ['kopf/kubernetes', 2, () => false],
    ['kopf/kubernetes/apps/v1', 2, () => false],
    ['kopf/webhooks', 8, isServer],
    ['kopf/server', 8, (file: string) => /operator-|client-/.test(file)],
    ['kopf/testing', 12, () => false],
  ])('importing %s loads few files, and none that it does not need', async (entry, most, isForeign) => {
    const loaded = await loadedBy(...importing(entry))
    expect(loaded.length).toBeGreaterThan(1)
    expect(loaded.length).toBeLessThanOrEqual(most)
    expect(loaded.filter((file) => isForeign(file) || isLater(file))).toEqual([])
  })

  test('kopf --help loads few files, and none that it does not need', async () => {
    const loaded = await loadedBy('node_modules/kopf/dist/cli/main.js', '--help')
    expect(loaded).toContain('kopf/dist/libraries/commander.js')
    expect(loaded.length).toBeLessThanOrEqual(8)
    expect(loaded.filter((file) => isServer(file) || /operator-|client-|yaml/.test(file))).toEqual([])
  })
})

describe('exports of the package', () => {
  test.each(['kopf', 'kopf/kubernetes', 'kopf/server', 'kopf/testing', 'kopf/webhooks'])(
    'the packed %s exports the same names as the sources',
    async (entry) => {
      using project = Project.withKopf()
      const program = `const all = await import('${entry}')
console.log(JSON.stringify(Object.entries(all).map(([key, value]) => [key, String(value).startsWith('class') ? value.name : key])))`
      const { stdout, stderr } = await project.node('--input-type=module', '--eval', program)
      expect(stderr).toBe('')
      const names = Object.keys(await import(entry)).sort()
      // The names of classes appear in error messages, so the build must keep them.
      expect(JSON.parse(stdout).sort()).toEqual(names.map((name) => [name, name]))
    },
  )

  test('the packed package can be required from CommonJS', async () => {
    using project = Project.withKopf()
    project.write({ 'main.cjs': `console.log(typeof require('kopf').Operator)` })
    expect(await project.node('main.cjs')).toMatchObject({ code: 0, stdout: 'function\n' })
  })
})

test('the packed package has all programs that are started by their path', () => {
  const names = [
    'cli/main',
    'cli/loading/compile-process',
    'cli/dev/operator-process',
    'workers/thread/main',
    'util/process/loop-guard-thread',
  ]
  const programs = names.map((name) => `kopf/dist/${name}.js`)
  expect(programs.filter((path) => !existsSync(join(modules, path)))).toEqual([])
})
