/** The kubeconfig of a server that we run, on disk: readable by its owner alone, never over somebody's own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { KopfError } from '../errors.ts'
import { replaceFile } from '../util/replace-file.ts'
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
    await replaceFile(path, { text, mode: 0o600, check: checkOwn })
    return path
  } catch (error) {
    const why = explainFileProblem(error)
    throw new KopfError('KOPF_KUBECONFIG', `Cannot write the kubeconfig to "${path}": ${why}`, { cause: error })
  }
}

function checkOwn(present: string): void {
  if (!isOurs(present)) throw new Error('a file is there that was not written by kopf server; name another one')
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
