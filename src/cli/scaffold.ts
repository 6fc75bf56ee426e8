/** A new operator from the template of the package: its files, with names of the user's own. Never overwrites anything. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { KopfError } from '../errors.ts'
import { defineResource } from '../kube/resources.ts'
import { makeFolder } from '../util/make-folder.ts'
import { packageFile } from '../util/package-files.ts'
import { packageVersion } from '../util/version.ts'
import { explainFileProblem } from './file-problems.ts'

export interface Scaffold {
  readonly folder: string
  readonly kind: string
  readonly group: string
}

/** npm would leave these out of the package, or take them for its own, under their real names. */
const hidden: Readonly<Record<string, string>> = { gitignore: '.gitignore', dockerignore: '.dockerignore' }

/** The files that were written. */
export async function scaffold(wish: Scaffold): Promise<readonly string[]> {
  const words = wordsOf(wish)
  const template = packageFile('templates/operator')
  const names = (await readdir(template)).toSorted()
  await prepareFolder(wish.folder)
  const written: string[] = []
  for (const name of names) {
    const text = await readFile(join(template, name), 'utf8')
    const target = hidden[name] ?? name
    // Somebody else may have put one there meanwhile.
    await writeFile(join(wish.folder, target), replaceWords(text, words), { flag: 'wx' }).catch(explain(wish.folder))
    written.push(target)
  }
  return written
}

/** What the template says, and what is said in its place. */
function wordsOf({ folder, kind, group }: Scaffold): ReadonlyArray<readonly [string, string]> {
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

/** As npm and Kubernetes accept it. */
export function toName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 50)
  return name === '' ? 'operator' : name
}

function replaceWords(text: string, words: ReadonlyArray<readonly [string, string]>): string {
  return words.reduce((replaced, [word, own]) => replaced.replaceAll(word, own), text)
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    makeFolder(folder)
  } catch (error) {
    explain(folder)(error)
  }
  const present = await readdir(folder).catch(explain(folder))
  const inTheWay = present.filter((name) => name !== '.git')
  if (inTheWay.length === 0) return
  const some = inTheWay.slice(0, 3).join(', ')
  throw new KopfError(
    'KOPF_FILE',
    `Cannot write an operator into "${folder}": it is not empty (${some}${inTheWay.length > 3 ? ', …' : ''}), and nothing ` +
      'is overwritten; name a new folder',
  )
}

/** Where file-problems.ts would speak of a file that is missing. */
const folderProblems: Readonly<Record<string, string>> = {
  ENOENT: 'no folder can be created there',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
}

function explain(folder: string): (error: unknown) => never {
  return (error) => {
    const { code = '' } = error as NodeJS.ErrnoException
    const why = `${folderProblems[code] ?? explainFileProblem(error)}; name another folder`
    throw new KopfError('KOPF_FILE', `Cannot write an operator into "${folder}": ${why}`, { cause: error })
  }
}
