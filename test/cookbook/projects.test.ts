/** Rules for all projects of the cookbook: their files, their READMEs, and their manifests. projects.slow.test.ts runs their own tests. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { toAnchor } from '../../docs/.vitepress/pages.ts'

const run = promisify(execFile)
const names = readdirSync('cookbook', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

const pathTo = (...path: string[]) => join('cookbook', ...path)
const read = (...path: string[]) => readFileSync(pathTo(...path), 'utf8')
const template = (name: string) => readFileSync(join('templates', 'operator', name), 'utf8')

interface PackageJson {
  readonly name: string
  readonly private: boolean
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const root = JSON.parse(readFileSync('package.json', 'utf8')) as PackageJson & { readonly version: string }
const readPackage = (name: string) => JSON.parse(read(name, 'package.json')) as PackageJson

/** The links of a Markdown file to other files, and to headings. */
function brokenLinks(folder: string): string[] {
  const text = read(folder, 'README.md').replaceAll(/^```.*?^```/gms, '')
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^https?:/.test(link))
  expect(links.length, folder).toBeGreaterThan(0)
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? pathTo(folder, 'README.md') : pathTo(folder, path)
    if (!existsSync(file)) return true
    if (anchor === undefined) return false
    const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)
    return ![...headings].some(([, title]) => toAnchor(title!) === anchor)
  })
}

test('the start of the cloud resource names the port that is in use', async () => {
  const taken = createServer()
  // The test also works if another program uses the port.
  await new Promise<void>((resolve) => taken.once('error', () => resolve()).listen(8585, '127.0.0.1', resolve))
  const { CLOUD_URL: _, ...env } = process.env
  const started = run(process.execPath, ['--import', 'tsx', 'start.ts'], { cwd: pathTo('cloud-resource'), env })
  const { code, stderr } = (await started.catch((error) => error)) as { code: number; stderr: string }
  taken.close()
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'Cannot start the cloud of this project: another program uses port 8585; stop it, or set CLOUD_URL and CLOUD_TOKEN ' +
      'to use a cloud that runs already\n',
  })
})

test('the overview of the cookbook lists all projects, and its links work', {
  skip: !existsSync(pathTo('README.md')),
}, () => {
  const rows = [...read('README.md').matchAll(/^\| \[[^\]]+\]\(([^)/]+)\/?(?:README\.md)?\)/gm)].map(
    ([, link]) => link!,
  )
  expect(rows.sort()).toEqual(names.sort())
  expect(brokenLinks('.')).toEqual([])
})

describe.each(names)('the project %s', (name) => {
  test('has the files of the layout', () => {
    const files = ['README.md', 'picture.svg', 'package.json', 'tsconfig.json', 'operator.ts', 'operator.test.ts']
    const more = ['objects.yaml', 'Dockerfile', '.dockerignore', join('manifests', 'operator.yaml')]
    expect([...files, ...more].filter((file) => !existsSync(pathTo(name, file)))).toEqual([])
    expect(existsSync(join('test', 'cookbook', `${name}.test.ts`))).toBe(true)
    expect(read(name, 'Dockerfile')).toBe(template('Dockerfile'))
    expect(read(name, '.dockerignore')).toBe(template('dockerignore'))
  })

  test('has a README with the sections, a picture with a description, and two commands to run it', () => {
    const readme = read(name, 'README.md')
    const titles = [...readme.replaceAll(/^```.*?^```/gms, '').matchAll(/^## (.+)$/gm)].map(([, title]) => title)
    const sections = ['Run it', 'Try it', 'How it works', 'Test it', 'Deploy it', 'Adapt it', 'Next']
    expect(titles).toEqual(sections)
    expect(readme).toMatch(/!\[[^\]]{20,}\]\(picture\.svg\)/)
    const [, commands] = /## Run it\n[^#]*?^```shell\n(.*?)^```/ms.exec(readme) ?? []
    expect(commands).toBe(`npm ci && npm run build\nnpm start --prefix cookbook/${name}\n`)
  })

  test('has a README that quotes log lines as npm start prints them at a terminal', () => {
    const blocks = [...read(name, 'README.md').matchAll(/^```(\w*)\n(.*?)^```/gms)]
    const lines = blocks.flatMap(([, language, text]) => (language === '' ? text!.trimEnd().split('\n') : []))
    const asPrinted = /^(?:\d\d:\d\d:\d\d (?:DEBUG|INFO|WARN|ERROR) +\S|kopf dev: |…$)/
    expect(lines.filter((line) => !asPrinted.test(line))).toEqual([])
  })

  test('has a README whose links work', () => {
    expect(brokenLinks(name)).toEqual([])
  })

  test('has a picture that fits any width, is legible in the dark, and loads nothing', () => {
    const picture = read(name, 'picture.svg')
    expect(picture).toMatch(/<svg [^>]*viewBox="0 0 \d+ \d+"/)
    expect(picture).not.toMatch(/<svg [^>]*\b(?:width|height)="\d+(?:px)?"/)
    expect(picture).toContain('prefers-color-scheme: dark')
    expect(picture).not.toMatch(/href=|url\(['"]?http|<script|@import/)
    const sizes = [...picture.matchAll(/font-size[:="\s]+(\d+)/g)].map(([, size]) => Number(size))
    expect(sizes.filter((size) => size < 13)).toEqual([])
  })

  test('has a package.json with the scripts of the template, and the versions of the repository', () => {
    const { scripts, dependencies, devDependencies, ...rest } = readPackage(name)
    expect(rest).toMatchObject({ name: `${name}-operator`, private: true, type: 'module' })
    expect(scripts).toMatchObject({
      // The cloud-resource project starts its demo server first.
      start: expect.stringMatching(/^(kopf dev operator\.ts --apply objects\.yaml( |$)|node --import tsx start\.ts$)/),
      test: 'tsc && node --import tsx --test *.test.ts',
      build: 'kopf build operator.ts',
      crd: 'kopf crd operator.ts',
      manifests: expect.stringMatching(/^kopf manifests operator\.ts .*--with-crds/),
    })
    expect(scripts['manifests']).toContain(`--image registry.example.com/${name}-operator:1.0.0`)
    expect(dependencies['kopf']).toBe(root.version)
    const { kopf: _, ...others } = { ...dependencies, ...devDependencies }
    for (const [dependency, version] of Object.entries(others))
      expect([dependency, version]).toEqual([dependency, root.devDependencies[dependency]])
    expect(Object.keys(devDependencies).sort()).toEqual(['@types/node', 'tsx', 'typescript'])
  })

  test('has the manifests that the script of its package.json prints, and they allow the calls of the client that the command finds', async () => {
    const [, ...args] = splitCommand(readPackage(name).scripts['manifests']!)
    const options = { cwd: pathTo(name) }
    const { stdout, stderr } = await run(process.execPath, [inject('command'), ...args], options)
    expect(read(name, 'manifests', 'operator.yaml')).toBe(stdout)
    expect(stderr).not.toMatch(/^ +--grant/m)
  })
})

/** The words of a command; those in double quotes may have spaces. */
function splitCommand(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
}
