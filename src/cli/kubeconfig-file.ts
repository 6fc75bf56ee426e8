/** The kubeconfig of a server that we run, on disk: readable by its owner alone, never over somebody's own. */
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { KopfError } from '../errors.ts'
import { explainFileProblem } from './file-problems.ts'

export interface WrittenKubeconfig extends AsyncDisposable {
  readonly path: string
}

/** Without a file, a temporary one that goes with the server. */
export async function writeKubeconfig(text: string, file: string | undefined): Promise<WrittenKubeconfig> {
  if (file !== undefined) return { path: await replaceOwn(text, resolve(file)), async [Symbol.asyncDispose]() {} }
  const folder = await mkdtemp(join(tmpdir(), 'kopf-server-'))
  const path = join(folder, 'kubeconfig')
  await writeFile(path, text, { mode: 0o600 })
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

async function replaceOwn(text: string, path: string): Promise<string> {
  try {
    const present = await readFile(path, 'utf8').catch(ifMissing)
    if (!isOurs(present)) throw new Error('a file is there that was not written by kopf server; name another one')
    // Beside it and then in its place: a reader never sees half a file.
    const draft = join(dirname(path), `.${basename(path)}.${process.pid}`)
    await writeFile(draft, text, { mode: 0o600 })
    await rename(draft, path)
    return path
  } catch (error) {
    const why = explainFileProblem(error)
    throw new KopfError('KOPF_KUBECONFIG', `Cannot write the kubeconfig to "${path}": ${why}`, { cause: error })
  }
}

function ifMissing(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error
  return ''
}

/** One cluster, one user, one context, all of the name that we give them; or nothing at all, as `mktemp` makes it. */
function isOurs(text: string): boolean {
  if (text === '') return true
  try {
    const { clusters, users, contexts } = JSON.parse(text) as Record<string, Array<{ name: string }>>
    return [clusters, users, contexts].every((entries) => entries?.length === 1 && entries[0]?.name === 'kopf')
  } catch {
    return false
  }
}
