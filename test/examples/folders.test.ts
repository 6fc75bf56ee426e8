/** Rules for the folders of all examples. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listExamples } from '../../docs/.vitepress/pages.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { readReadme } from './readme.ts'

const read = (...path: string[]) => readFileSync(join('examples', ...path), 'utf8')
const folders = readdirSync('examples').filter((name) => /^\d/.test(name))
const operators = folders.filter((folder) => existsSync(join('examples', folder, 'operator.ts')))

test('every example is short', () => {
  const sources = folders.flatMap((folder) => {
    const files = readdirSync(join('examples', folder)).filter((name) => name.endsWith('.ts'))
    return files.map((file) => [`${folder}/${file}`, read(folder, file).trimEnd().split('\n').length] as const)
  })
  expect(sources.filter(([, lines]) => lines >= 50)).toEqual([])
})

test('every example is run by a test', () => {
  const tests = ['examples', 'programs'].map((name) =>
    readFileSync(join('test', 'examples', `${name}.test.ts`), 'utf8'),
  )
  const isRun = (folder: string) => tests.some((text) => text.includes(`'${folder}'`))
  expect(folders.filter((folder) => !isRun(folder))).toEqual([])
})

test('every README of an example has how to run it, its output, things to try, and links', () => {
  expect(operators).toHaveLength(folders.length - 1)
  for (const folder of operators) {
    const { shell, seen } = readReadme(folder)
    expect(seen.length, folder).toBeGreaterThan(0)
    expect(
      shell.some((line) => /kopf run .*--embedded|kopf server/.test(line)),
      folder,
    ).toBe(true)
    expect(
      shell.some((line) => line.includes('kubectl apply -f')),
      folder,
    ).toBe(true)
    expect(read(folder, 'README.md'), folder).toMatch(/## Expected output\n.+## Try it\n.+## Next\n/s)
  }
})

test('every link in a README of an example works', () => {
  for (const folder of ['.', ...folders]) {
    const links = [...read(folder, 'README.md').matchAll(/\]\(([^):]+)\)/g)].map(([, link]) => link!)
    expect(links.length, folder).toBeGreaterThan(0)
    expect(links.filter((link) => !existsSync(join('examples', folder, link)))).toEqual([])
  }
})

test('the overview of the examples lists all of them in their order, but the typed example early', () => {
  const rows = [...read('README.md').matchAll(/^\| \[(\d[^\]]+)\]\(([^)]+)\)/gm)]
  const names = rows.map(([, name]) => name)
  expect(rows.map(([, , link]) => link)).toEqual(names)
  const [server, minimal, ...others] = folders.filter((folder) => folder !== '26-typed-with-zod')
  expect(names).toEqual([server, minimal, '26-typed-with-zod', ...others])
})

test('the sidebar of the site has the examples and the cookbook in the order of their overviews', () => {
  const tables = [read('README.md'), readFileSync(join('cookbook', 'README.md'), 'utf8')]
  const [examples, cookbook] = tables.map((text) =>
    [...text.matchAll(/^\| \[[^\]]+\]\(([^)/]+)/gm)].map(([, name]) => name),
  )
  expect(listExamples()).toEqual([...(examples ?? []), 'tutorial'])
  expect(listExamples('cookbook')).toEqual(cookbook)
})

test('a CRD is the same in all examples', async () => {
  const shared = parseYaml(read('crd.yaml'))
  const peerings = parseYaml(readFileSync('peering.yaml', 'utf8'))
  const names = [...shared, ...peerings].map(nameOf)
  for (const folder of operators.filter((one) => existsSync(join('examples', one, 'object.yaml')))) {
    const definitions = parseYaml(read(folder, 'object.yaml')).filter((object) => names.includes(nameOf(object)))
    expect([...shared, ...peerings], folder).toEqual(expect.arrayContaining(definitions))
  }
})

function nameOf(object: unknown): string {
  const { kind, metadata } = object as { kind: string; metadata: { name: string } }
  return `${kind} ${metadata.name}`
}
