/**
 * Prepares the build of the site: installs the packages of docs/package.json, which the library itself does not need, and generates
 * the API pages from the declarations of a fresh build of the package.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const docs = 'docs'
const api = `${docs}/reference/api`

function run(command: string, args: readonly string[], cwd = '.'): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  // The command has printed the reason.
  if (status !== 0) process.exit(status ?? 1)
}

/** Compares the lockfile with `node_modules/.package-lock.json`, where npm records the installed versions. */
function isInstalled(): boolean {
  const [wanted, present] = [`${docs}/package-lock.json`, `${docs}/node_modules/.package-lock.json`].map((file) =>
    existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {},
  )
  return Object.entries<{ version: string; optional?: boolean }>(wanted).every(
    ([path, { version, optional }]) => path === '' || optional === true || present[path]?.version === version,
  )
}

/** Renames the pages of the exports `index` and `Index`: a web server serves a page named "index" as the page of its folder. */
function renameIndexPages(): void {
  const files = readdirSync(api, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'))
  const isThing = (file: string) =>
    /^index\.md$/i.test(basename(file)) && /^(interfaces|variables)$/.test(basename(dirname(file)))
  for (const file of files) {
    const text = readFileSync(join(api, file), 'utf8')
    const beside = /^(interfaces|variables)$/.test(basename(dirname(file))) ? /(?<=\]\()(index)\.md/gi : /(?!)/g
    const renamed = text
      .replaceAll(/(?<=(?:interfaces|variables)\/)(index)\.md/gi, '$1_.md')
      .replaceAll(beside, '$1_.md')
    if (renamed !== text) writeFileSync(join(api, file), renamed)
  }
  for (const file of files.filter(isThing)) renameSync(join(api, file), join(api, file.replace(/\.md$/, '_.md')))
}

if (!isInstalled()) run('npm', ['ci'], docs)
run('npm', ['run', '--silent', 'build'])
rmSync(api, { recursive: true, force: true })
run('node_modules/.bin/typedoc', ['--logLevel', 'Warn'], docs)
renameIndexPages()
