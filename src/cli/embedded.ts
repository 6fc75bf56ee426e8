/**
 * The embedded API server for `kopf server`, `run` and `dev`: options, start, loading of objects, the kubeconfig file, and the instructions
 * for the user how to reach it.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { KopfError } from '../errors.ts'
import { type ControllerChoice, chooseControllers, controllerNames } from '../server/controllers/workloads/names.ts'
import type { LoadObjectsOptions } from '../server/load.ts'
import type { RunningServer } from '../server/start.ts'
import { replaceFile } from '../util/process/replace-file.ts'
import { toNumber } from './display/render.ts'
import { explainFileProblem, type ManifestFile } from './read-manifests.ts'
import { isPrintedToPerson, quoteForShell } from './terminal.ts'

export interface EmbeddedServerOptions {
  readonly port: number
  readonly open?: boolean
  readonly authorization?: 'rbac' | 'always-allow'
  /** The file for the kubeconfig. Default: a temporary file, which is removed with the server. */
  readonly kubeconfig?: string | undefined
  /** The directory for the objects of the server. Default: objects are kept in memory only. */
  readonly dataDir?: string | undefined
  /** Controllers for built-in kinds. */
  readonly controllers?: readonly ControllerChoice[] | undefined
  readonly manifests: readonly ManifestFile[]
}

export interface Embedded extends AsyncDisposable {
  readonly server: RunningServer
  /** The text for the user: the address, the created objects, and how to use kubectl. */
  readonly greeting: string
  /** The path of the kubeconfig, quoted for a shell. */
  readonly kubeconfig: string
}

export function portOption(meaning = 'the port of the embedded server on 127.0.0.1'): Option {
  return new Option('--port <number>', meaning).default(0, 'any free port').argParser((text) => {
    if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text)
    throw new InvalidArgumentError('Expected a number from 0 to 65535.')
  })
}

export function dataDirOption(): Option {
  return new Option(
    '--data-dir <directory>',
    'store the objects of the embedded server in this directory, and load those that are stored there',
  )
}

export function controllersOption(when: string = ''): Option {
  const what = `run controllers of built-in kinds: "all", or a comma-separated list of ${controllerNames.join(', ')}`
  const how = 'the controllers that they need are added; a minus before a name excludes it'
  return new Option('--controllers <names>', `${when}${what}; ${how}`).argParser(parseControllers)
}

function parseControllers(text: string): readonly ControllerChoice[] {
  const names = text.split(',') as ControllerChoice[]
  try {
    chooseControllers(names)
    return names
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`)
  }
}

export function collect(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value]
}

export async function startEmbedded(options: EmbeddedServerOptions): Promise<Embedded> {
  const {
    port,
    open = false,
    authorization = 'always-allow',
    kubeconfig,
    dataDir,
    controllers = [],
    manifests,
  } = options
  // Imported late: help and version do not need it.
  const { startServer } = await import('../server/start.ts')
  const storage = dataDir === undefined ? {} : { dataDir }
  const server = await startServer({ port, open, insecure: open, authorization, controllers, ...storage })
  try {
    const loaded = await loadManifests(server, manifests, { leavesPresent: dataDir !== undefined })
    // Last, so that a failure before leaves no file behind.
    const written = await writeKubeconfig(server.kubeconfig, kubeconfig)
    const stop = async () => {
      await written[Symbol.asyncDispose]()
      await server.stop()
    }
    const quoted = quoteForShell(written.path)
    return { server, kubeconfig: quoted, greeting: describeServer(server, quoted, loaded), [Symbol.asyncDispose]: stop }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Creates the objects of files. Returns their names, such as `gadgets.example.com/first`. */
export async function loadManifests(
  { api }: RunningServer,
  manifests: readonly ManifestFile[],
  options: LoadObjectsOptions = {},
): Promise<string[]> {
  const { loadObjects } = await import('../server/load.ts')
  const loaded: string[] = []
  for (const { file, objects } of manifests) {
    loaded.push(...(await loadObjects(api, objects, options).catch((error) => rethrowFrom(file, error))))
  }
  return loaded
}

/** Adds the name of the file to an error. */
export function rethrowFrom(file: string | undefined, error: unknown): never {
  if (!(error instanceof KopfError) || file === undefined) throw error
  throw new KopfError(error.code, `${file}: ${error.message}`, { cause: error })
}

function describeServer({ url }: RunningServer, quoted: string, loaded: readonly string[]): string {
  const names = isPrintedToPerson() ? summarizeNames(loaded) : loaded
  const created = loaded.length === 0 ? [] : ['Created at the start:', ...names.map((name) => `  ${name}`), '']
  const lines = [
    `The embedded Kubernetes API server is ready at ${url}`,
    '',
    ...created,
    'To use it from another terminal:',
    `  export KUBECONFIG=${quoted}`,
    `  kubectl get ${loaded.at(-1)?.replace('/', ' ') ?? 'namespaces'}`,
    '',
    'Stop it with Ctrl-C.',
  ]
  return `${lines.join('\n')}\n`
}

export interface WrittenKubeconfig extends AsyncDisposable {
  readonly path: string
}

/**
 * Writes a kubeconfig that only its owner can read. Never overwrites a kubeconfig that kopf has not written. Without a file, writes a temporary one,
 * which is removed with the server.
 */
export async function writeKubeconfig(text: string, file: string | undefined): Promise<WrittenKubeconfig> {
  if (file !== undefined)
    return { path: await replaceKubeconfig(text, resolve(file)), async [Symbol.asyncDispose]() {} }
  const folder = await mkdtemp(join(tmpdir(), 'kopf-server-'))
  const path = join(folder, 'kubeconfig')
  await writeFile(path, text, { mode: 0o600 })
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

async function replaceKubeconfig(text: string, path: string): Promise<string> {
  try {
    await replaceFile(path, { text, mode: 0o600, check: checkWrittenByKopf })
    return path
  } catch (error) {
    const why = explainFileProblem(error)
    throw new KopfError('KOPF_KUBECONFIG', `Cannot write the kubeconfig to "${path}": ${why}`, { cause: error })
  }
}

function checkWrittenByKopf(present: string): void {
  if (!isWrittenByKopf(present))
    throw new Error('a file is there that was not written by kopf server; name another one')
}

/** Whether kopf wrote the kubeconfig: one cluster, user and context, all named "kopf". An empty file, as created by `mktemp`, counts too. */
function isWrittenByKopf(text: string): boolean {
  if (text === '') return true
  try {
    const { clusters, users, contexts } = JSON.parse(text) as Record<string, Array<{ name: string }>>
    return [clusters, users, contexts].every((entries) => entries?.length === 1 && entries[0]?.name === 'kopf')
  } catch {
    return false
  }
}

const maxNames = 20
const maxPerResource = 5

/** Shortens a long list of `resource/name`: many objects of one resource are replaced by their number. */
export function summarizeNames(names: readonly string[]): readonly string[] {
  if (names.length <= maxNames) return names
  const byResource = new Map<string, string[]>()
  for (const name of names) {
    const resource = name.slice(0, name.indexOf('/'))
    const all = byResource.get(resource) ?? []
    all.push(name)
    byResource.set(resource, all)
  }
  return [...byResource].flatMap(([resource, all]) =>
    all.length <= maxPerResource ? all : [`${toNumber(all.length)} ${resource}`],
  )
}
