/** `kopf server`: the embedded API server alone, until it is told to stop. */
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { KopfError } from '../../errors.ts'
import type { RunningServer } from '../../server/start.ts'
import { parseYaml, YamlError } from '../../util/yaml.ts'
import { explainFileProblem } from '../file-problems.ts'
import { writeKubeconfig } from '../kubeconfig-file.ts'
import { untilSignal } from '../signals.ts'

interface ServerOptions {
  readonly port: number
  readonly kubeconfig?: string
  readonly filename?: readonly string[]
  readonly open?: boolean
}

export function addServerCommand(program: Command): void {
  program
    .command('server')
    .summary('run a Kubernetes API server, with nothing but Node')
    .description(
      'Runs a Kubernetes API server in this process, for development and tests.\n' +
        'It serves custom resources and the built-in kinds to kubectl, client libraries and operators.\n' +
        'No pods run on it, and what it holds is gone when it stops.',
    )
    .addOption(
      new Option('--port <number>', 'listen on this port of 127.0.0.1').default(0, 'any free one').argParser(toPort),
    )
    .option(
      '--kubeconfig <file>',
      'write the kubeconfig to this file (default: a temporary one, whose path is printed)',
    )
    .option(
      '-f, --filename <file>',
      'create the objects of this YAML or JSON file at the start; can be repeated',
      collect,
    )
    .option('--open', 'plain HTTP without credentials: everybody on this machine may do everything')
    .addHelpText(
      'after',
      '\nExample:\n  $ kopf server --kubeconfig dev.kubeconfig\n  $ kubectl --kubeconfig dev.kubeconfig get namespaces',
    )
    .action(async (options: ServerOptions) => run(options))
}

function toPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Expected a number from 0 to 65535.')
}

function collect(file: string, files: readonly string[] = []): readonly string[] {
  return [...files, file]
}

async function run({ port, kubeconfig, filename = [], open = false }: ServerOptions): Promise<void> {
  const stopped = untilSignal()
  // Only now: help and version need none of it.
  const [{ startServer }, { loadObjects }] = await Promise.all([
    import('../../server/start.ts'),
    import('../../server/load.ts'),
  ])
  const contents = await Promise.all(filename.map(readObjects))
  await using server = await startServer({ port, open, insecure: open })
  await using written = await writeKubeconfig(server.kubeconfig, kubeconfig)
  const loaded: string[] = []
  for (const [index, objects] of contents.entries()) {
    loaded.push(...(await loadObjects(server.api, objects).catch((error) => rethrowFrom(filename[index]!, error))))
  }
  greet(server, written.path, loaded)
  const signal = await stopped
  process.stdout.write(`\n${signal}: stopped. What the server held is gone.\n`)
}

async function readObjects(file: string): Promise<unknown[]> {
  try {
    return await parseYaml(await readFile(file, 'utf8'))
  } catch (error) {
    const why = error instanceof YamlError ? error.message : explainFileProblem(error)
    throw new KopfError('KOPF_FILE', `Cannot read "${file}": ${why}`, { cause: error })
  }
}

/** Among several files, people want to know which. */
function rethrowFrom(file: string, error: unknown): never {
  if (!(error instanceof KopfError)) throw error
  throw new KopfError(error.code, `${file}: ${error.message}`, { cause: error })
}

function greet({ url }: RunningServer, path: string, loaded: readonly string[]): void {
  const quoted = /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
  const created = loaded.length === 0 ? [] : ['Created at the start:', ...loaded.map((name) => `  ${name}`), '']
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
  process.stdout.write(`${lines.join('\n')}\n`)
}
