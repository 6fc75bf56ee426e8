/** Writes a new operator from the template in the package, with the user's names. Never overwrites a file. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { KopfError } from '../../errors.ts'
import { defineResource } from '../../kube/resources/resources.ts'
import { makeFolder } from '../../util/process/make-folder.ts'
import { packageFile, packageVersion } from '../../util/process/package-files.ts'
import { explainFileProblem } from '../read-manifests.ts'

export interface Scaffold {
  readonly folder: string
  readonly kind: string
  readonly group: string
}

/** Names in the template, and real names. Under the real names, npm would exclude these files from the package or interpret them. */
const dotFiles: Readonly<Record<string, string>> = { gitignore: '.gitignore', dockerignore: '.dockerignore' }

/** Returns the names of the written files. */
export async function scaffold(options: Scaffold): Promise<readonly string[]> {
  const replacements = replacementsOf(options)
  const template = packageFile('templates/operator')
  const names = (await readdir(template)).toSorted()
  await prepareFolder(options.folder)
  const written: string[] = []
  for (const name of names) {
    const text = await readFile(join(template, name), 'utf8')
    const target = dotFiles[name] ?? name
    // "wx" fails if the file exists: another process may have created it meanwhile.
    await writeFile(join(options.folder, target), applyReplacements(text, replacements), { flag: 'wx' }).catch(
      throwFolderError(options.folder),
    )
    written.push(target)
  }
  return written
}

/** Pairs of a word in the template and its replacement. */
function replacementsOf({ folder, kind, group }: Scaffold): ReadonlyArray<readonly [string, string]> {
  const { plural, singular } = defineResource({ group, version: 'v1', kind })
  return [
    ['my-operator', toName(folder)],
    ['"kopf": "0.0.0"', `"kopf": "${packageVersion()}"`],
    ['example.com', group],
    ['Greeting', kind],
    ['greetings', plural],
    ['greeting', singular],
  ]
}

/** A name that npm and Kubernetes accept, made from the name of the folder. */
export function toName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 50)
  return name === '' ? 'operator' : name
}

function applyReplacements(text: string, replacements: ReadonlyArray<readonly [string, string]>): string {
  return replacements.reduce((replaced, [word, replacement]) => replaced.replaceAll(word, replacement), text)
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    makeFolder(folder)
  } catch (error) {
    throwFolderError(folder)(error)
  }
  const present = await readdir(folder).catch(throwFolderError(folder))
  const existing = present.filter((name) => name !== '.git')
  if (existing.length === 0) return
  const some = existing.slice(0, 3).join(', ')
  throw new KopfError(
    'KOPF_FILE',
    `Cannot write an operator into "${folder}": it is not empty (${some}${existing.length > 3 ? ', …' : ''}), and nothing ` +
      'is overwritten; name a new folder',
  )
}

/** Messages for folders; those in read-manifests.ts are about files. */
const folderProblems: Readonly<Record<string, string>> = {
  ENOENT: 'no folder can be created there',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
}

function throwFolderError(folder: string): (error: unknown) => never {
  return (error) => {
    const { code = '' } = error as NodeJS.ErrnoException
    const why = `${folderProblems[code] ?? explainFileProblem(error)}; name another folder`
    throw new KopfError('KOPF_FILE', `Cannot write an operator into "${folder}": ${why}`, { cause: error })
  }
}
