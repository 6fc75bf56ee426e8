/** The embedded API server for a command: started, filled from files, introduced to people. For `server` and `run`. */
import { InvalidArgumentError, Option } from 'commander'
import { KopfError } from '../errors.ts'
import { type ControllerChoice, chooseControllers, controllerNames } from '../server/controllers/life/names.ts'
import type { RunningServer } from '../server/start.ts'
import { summarizeNames } from './display/names.ts'
import { writeKubeconfig } from './kubeconfig-file.ts'
import type { Manifest } from './manifests.ts'
import { isPrintedToPerson } from './terminal.ts'

export interface EmbeddedOptions {
  readonly port: number
  readonly open?: boolean
  readonly authorization?: 'rbac' | 'always-allow'
  /** Where to write the kubeconfig; a temporary file that goes with the server by default. */
  readonly kubeconfig?: string | undefined
  /** Where what the server holds is kept; nowhere by default. */
  readonly dataDir?: string | undefined
  /** Those that bring built-in kinds to life. */
  readonly controllers?: readonly ControllerChoice[] | undefined
  readonly manifests: readonly Manifest[]
}

export interface Embedded extends AsyncDisposable {
  readonly server: RunningServer
  /** Where it is, what is in it, how to use it. */
  readonly greeting: string
  /** The path of the file, as a shell takes it. */
  readonly kubeconfig: string
}

export function portOption(): Option {
  return new Option('--port <number>', 'listen on this port of 127.0.0.1')
    .default(0, 'any free one')
    .argParser((text) => {
      if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text)
      throw new InvalidArgumentError('Expected a number from 0 to 65535.')
    })
}

export function dataDirOption(): Option {
  return new Option(
    '--data-dir <directory>',
    'keep what the server holds in this directory, and go on from what is there',
  )
}

export function controllersOption(when: string = ''): Option {
  const what = `bring built-in kinds to life: "all", or, with commas between, some of ${controllerNames.join(', ')}`
  const how = 'each with those it needs; a minus before a name leaves one out'
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

export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const {
    port,
    open = false,
    authorization = 'always-allow',
    kubeconfig,
    dataDir,
    controllers = [],
    manifests,
  } = options
  // Only now: help and version need none of it.
  const [{ startServer }, { loadObjects }] = await Promise.all([
    import('../server/start.ts'),
    import('../server/load.ts'),
  ])
  const kept = dataDir === undefined ? {} : { dataDir }
  const server = await startServer({ port, open, insecure: open, authorization, controllers, ...kept })
  try {
    const loaded: string[] = []
    for (const { file, objects } of manifests) {
      const loading = loadObjects(server.api, objects, { leavesPresent: dataDir !== undefined })
      loaded.push(...(await loading.catch((error) => rethrowFrom(file, error))))
    }
    // Last, so that nothing that fails leaves it behind.
    const written = await writeKubeconfig(server.kubeconfig, kubeconfig)
    const stop = async () => {
      await written[Symbol.asyncDispose]()
      await server.stop()
    }
    const quoted = quote(written.path)
    return { server, kubeconfig: quoted, greeting: greet(server, quoted, loaded), [Symbol.asyncDispose]: stop }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Among several files, people want to know which. */
export function rethrowFrom(file: string | undefined, error: unknown): never {
  if (!(error instanceof KopfError) || file === undefined) throw error
  throw new KopfError(error.code, `${file}: ${error.message}`, { cause: error })
}

function quote(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function greet({ url }: RunningServer, quoted: string, loaded: readonly string[]): string {
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
