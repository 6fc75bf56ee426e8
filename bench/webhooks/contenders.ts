/** The webhook servers that are compared, each a process on its own core, with the same certificate and handlers. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { findFreePorts } from '../../tools/envtest/ports.ts'
import { kopfRun, oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import { kopfVersion } from '../../tools/kopf/venv.ts'
import { type Access, Connection } from '../lib/connection.ts'
import { check } from '../lib/measure.ts'
import { group, plural } from '../lib/schemaless-gadgets.ts'
import { reviewOf } from './reviews.ts'

export type ContenderName = 'baseline' | 'kopf' | 'kopf-quiet' | 'ours' | 'ours-quiet'

export const titles: Readonly<Record<ContenderName, string>> = {
  baseline: 'baseline (bare node:https)',
  kopf: `Kopf ${kopfVersion}`,
  'kopf-quiet': `Kopf ${kopfVersion}, quiet`,
  ours: 'ours',
  'ours-quiet': 'ours, quiet',
}

export interface Place {
  /** The folder of the control plane. */
  readonly folder: string
  readonly kubeconfig: string
  /** The core of the measured process; undefined on a machine with one core. */
  readonly core: number | undefined
}

export interface Contender extends AsyncDisposable {
  readonly name: ContenderName
  readonly process: OperatorProcess
  readonly access: Access
  /** The longest stall of its event loop since the last call, in milliseconds. */
  stall(): Promise<number>
}

export async function startContender(name: ContenderName, place: Place): Promise<Contender> {
  const [port] = (await findFreePorts(1)) as [number]
  const authority = await CertificateAuthority.create('kopf-bench')
  const { certPem, keyPem } = await authority.issue({ commonName: 'webhooks', hosts: ['127.0.0.1'] })
  const folder = join(place.folder, `webhooks-${port}`)
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await mkdir(folder)
  await Promise.all([writeFile(cert, certPem), writeFile(key, keyPem)])
  const env = { BENCH_GROUP: group, BENCH_PLURAL: plural, BENCH_PORT: `${port}`, BENCH_CERT: cert, BENCH_KEY: key }
  const log = join(folder, 'log')
  const command = intoFile(await toCommand(name, { ...place, folder }, env), log)
  const process = new OperatorProcess({ ...command, ...(place.core !== undefined && { core: place.core }) })
  const access = { url: `https://127.0.0.1:${port}`, caPem: authority.caPem }
  await untilAnswering(process, access).catch(async (error: unknown) => {
    await process.stop()
    throw new Error(`${name} does not answer:\n${await readFile(log, 'utf8')}`, { cause: error })
  })
  return { name, process, access, stall: () => readStall(process), [Symbol.asyncDispose]: () => process.stop() }
}

const fileOf = (path: string): string => fileURLToPath(new URL(`operators/${path}`, import.meta.url))

async function toCommand(name: ContenderName, place: Place, env: Record<string, string>): Promise<OperatorCommand> {
  const { kubeconfig, folder } = place
  const options = name.endsWith('-quiet') ? ['--quiet'] : []
  const run = { namespace: 'default', kubeconfig, env, options }
  if (name.startsWith('kopf')) return kopfRun({ ...run, file: fileOf('kopf.py') })
  if (name.startsWith('ours')) return oursRun({ ...run, file: fileOf('ours.ts') }, 'build')
  const outfile = join(folder, 'baseline.mjs')
  buildSync({ entryPoints: [fileOf('baseline.ts')], outfile, bundle: true, platform: 'node', format: 'esm' })
  return { name, program: process.execPath, args: [outfile], kubeconfig, env }
}

/** Logs go to a file, so that the driver does not have to read them. */
function intoFile(command: OperatorCommand, log: string): OperatorCommand {
  const { program, args } = command
  return { ...command, program: 'sh', args: ['-c', 'exec "$@" 2>"$0"', log, program, ...args] }
}

async function untilAnswering(process: OperatorProcess, access: Access): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    const status = await sendReview(access).catch(() => 0)
    if (status === 200) return
    check(process.ended === undefined && Date.now() < deadline, 'the webhook server does not answer')
    await sleep(100)
  }
}

async function sendReview(access: Access): Promise<number> {
  const connection = await Connection.open(access)
  try {
    return (await connection.send({ method: 'POST', path: '/validate', body: reviewOf(0) })).status
  } finally {
    connection.close()
  }
}

async function readStall(operator: OperatorProcess): Promise<number> {
  const reportsOf = (output: string): string[] => output.split('\n').filter((line) => /^report .*\}$/.test(line))
  const before = reportsOf(operator.output).length
  process.kill(operator.pid, 'SIGUSR2')
  await operator.until((output) => reportsOf(output).length > before, 60_000)
  return (JSON.parse(reportsOf(operator.output).at(-1)!.slice('report '.length)) as { stallMs: number }).stallMs
}
