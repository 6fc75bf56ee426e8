/** Writes a new operator from the template in the package, with the user's names. Never overwrites a file. Called by commands/init.ts. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { KopfError } from '../../errors.ts'
import { defineResource } from '../../kube/resources/resources.ts'
import { systemClock } from '../../util/async/clock.ts'
import { captureProgram, type ProgramOutput } from '../../util/process/child-program.ts'
import { makeFolder } from '../../util/process/make-folder.ts'
import { packageFile, packageSpecifier } from '../../util/process/package-files.ts'
import { explainFileProblem } from '../read-manifests.ts'

export interface Scaffold {
  readonly folder: string
  readonly kind: string
  readonly group: string
  /** Whether the folder may contain files; they are kept. */
  readonly allowsFiles: boolean
}

export interface ScaffoldResult {
  readonly written: readonly string[]
  /** Files of the template that existed before. */
  readonly kept: readonly string[]
}

/** Names in the template, and real names. Under the real names, npm would exclude these files from the package or interpret them. */
const dotFiles: Readonly<Record<string, string>> = { gitignore: '.gitignore', dockerignore: '.dockerignore' }

export async function scaffold(options: Scaffold): Promise<ScaffoldResult> {
  const { folder, allowsFiles } = options
  const replace = createReplacer(options)
  const template = packageFile('templates/operator')
  const names = (await readdir(template)).toSorted()
  await prepareFolder(folder, allowsFiles)
  const written: string[] = []
  const kept: string[] = []
  for (const name of names) {
    const target = dotFiles[name] ?? name
    const text = replace(await readFile(join(template, name), 'utf8'))
    const isWritten = await writeNew(join(folder, target), text, allowsFiles).catch(throwFolderError(folder))
    ;(isWritten ? written : kept).push(target)
  }
  return { written, kept }
}

/** Returns false if the file exists and may be kept. "wx" fails if the file exists: another process may have created it meanwhile. */
async function writeNew(path: string, text: string, keepsExisting: boolean): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (keepsExisting && (error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The command that adds the packages of the template to another package.json. */
export async function installCommand(): Promise<string> {
  const text = await readFile(join(packageFile('templates/operator'), 'package.json'), 'utf8')
  const { dependencies, devDependencies } = JSON.parse(text) as Record<string, Record<string, string>>
  const [runtime, development] = [dependencies!, devDependencies!].map((all) => Object.keys(all).join(' '))
  return `npm install ${runtime} && npm install --save-dev ${development}`
}

/** Replaces all words of the template in one pass, since the names of the user may contain such words. */
function createReplacer({ folder, kind, group }: Scaffold): (text: string) => string {
  const { plural, singular } = defineResource({ group, version: 'v1', kind })
  const replacements: Readonly<Record<string, string>> = {
    'my-operator': toName(folder),
    '"kopf": "0.0.0"': `"kopf": ${JSON.stringify(packageSpecifier())}`,
    'example.com': group,
    Greeting: kind,
    greetings: plural,
    greeting: singular,
  }
  const words = new RegExp(Object.keys(replacements).map(escapePattern).join('|'), 'g')
  return (text) => text.replaceAll(words, (word) => replacements[word]!)
}

function escapePattern(word: string): string {
  return word.replaceAll('.', '\\.')
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

async function prepareFolder(folder: string, allowsFiles: boolean): Promise<void> {
  const present = await listFolder(folder)
  if (present.length > 0 && !allowsFiles) {
    throw new KopfError(
      'KOPF_FILE',
      `Cannot write an operator into "${folder}": it is not empty (${shorten(present)}); name a new folder, or add the missing ` +
        'files with --force, which overwrites nothing',
    )
  }
  try {
    makeFolder(folder)
  } catch (error) {
    throwFolderError(folder)(error)
  }
}

/** The names in a folder; none if it does not exist yet. A repository of git may be there before its first file. */
export async function listFolder(folder: string): Promise<readonly string[]> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? [] : throwFolderError(folder)(error),
  )
  return present.filter((name) => name !== '.git').toSorted()
}

/** The first names of a list. */
export function shorten(names: readonly string[]): string {
  return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`
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

/** Runs `npm install` in the folder of a new operator: for `--install`, which `npm create kopf` passes. */
export async function installPackages(folder: string): Promise<void> {
  const { status, stderr } = await runNpm(folder)
  if (status === 0) return
  const reason = stderr.trim().split('\n').at(-1) ?? ''
  throw new KopfError(
    'KOPF_INSTALL',
    `Cannot install the packages of ${folder}: npm install ended with exit code ${status}${reason === '' ? '' : ` (${reason})`}. ` +
      'The folder is complete: run "npm install" in it',
  )
}

async function runNpm(folder: string): Promise<ProgramOutput> {
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error']
  const { signal } = new AbortController()
  try {
    return await captureProgram({ file: 'npm', args, env: {}, clock: systemClock, signal })
  } catch (error) {
    const advice = 'npm cannot be started. Install npm, or use --no-install'
    throw new KopfError('KOPF_INSTALL', `Cannot install the packages of ${folder}: ${advice}`, { cause: error })
  }
}
