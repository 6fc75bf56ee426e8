/** Collects the licences of the bundled libraries, which require that every copy includes them. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The licence texts of the packages that the files belong to. Throws if a package has none. */
export async function collectLicences(files: readonly string[]): Promise<string> {
  const folders = [...new Set(files.map(packageOf))].sort()
  const names = new Map<string, string[]>()
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const text = await readLicence(folder)
    names.set(text, [...(names.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...names].map(([text, packages]) => `${[...new Set(packages)].join('\n')}\n\n${text}\n`)
  return [
    'Part of kopf, in dist/libraries and dist/dashboard, are these packages, under the licences that follow them.\n',
    ...parts,
  ].join(`\n${'-'.repeat(80)}\n\n`)
}

/** The folder of the file's package. Nested package.json files that only set the module type are skipped. */
export function packageOf(file: string): string {
  let folder = dirname(file)
  while (!/node_modules\/(@[^/]+\/)?[^/@]+$/.test(folder) || !existsSync(join(folder, 'package.json'))) {
    folder = dirname(folder)
    if (folder === '.') throw new Error(`Cannot tell the licence of "${file}": it is in no package`)
  }
  return folder
}

async function readLicence(folder: string): Promise<string> {
  const file = (await readdir(folder)).find((name) => /^(licen[cs]e|copying)/i.test(name))
  if (file === undefined) throw new Error(`Cannot publish "${folder}": it has no licence file`)
  return (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n').trim()
}
