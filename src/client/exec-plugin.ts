/**
 * Credentials from a program that a kubeconfig names, by the protocol of client-go (ExecCredential, v1 and v1beta1). What the
 * program prints is never shown; of what it complains of, the end is, without whatever could be a secret.
 */
import { systemClock } from '../util/clock.ts'
import { getOwn, isPlainObject } from '../util/json.ts'
import { captureProgram, type Printed } from '../util/program.ts'
import type { ConnectionInfoOptions } from './credentials.ts'
import { Deadlines } from './deadline.ts'
import type { ExecPlugin } from './exec-stanza.ts'
import { hideSecrets } from './hide-secrets.ts'
import { type Found, refusal, text } from './kubeconfig-entries.ts'

/** Whoever waits for a person, or for a network that is not there, is not waited for. */
const patienceMs = 60_000

type Fetched = Pick<ConnectionInfoOptions, 'token' | 'certificateData' | 'privateKeyData' | 'expiration'>

/** Rejects with a `KOPF_KUBECONFIG` error that says what is wrong with the program or with what it printed. */
export async function runExecPlugin(plugin: ExecPlugin): Promise<Fetched> {
  const printed = await run(plugin)
  if (printed.status !== 0) {
    throw failure(plugin, `ended with ${describeEnd(printed)}${describeComplaint(plugin, printed)}`)
  }
  return readAnswer(plugin, printed.stdout)
}

async function run(plugin: ExecPlugin): Promise<Printed> {
  const { command, args, env, apiVersion, cluster } = plugin
  const tooLong = () => failure(plugin, `did not end within ${patienceMs / 1000} seconds`)
  const deadline = new Deadlines(systemClock, undefined).start(patienceMs, undefined, tooLong)
  const spec = { ...(cluster && { cluster }), interactive: false }
  const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec })
  try {
    return await captureProgram({
      file: command,
      args,
      env: { ...env, KUBERNETES_EXEC_INFO: info },
      clock: systemClock,
      signal: deadline.signal,
    })
  } catch (error) {
    deadline.signal.throwIfAborted()
    // Not as the cause: Node tells all arguments with it, and there may be secrets among them.
    throw failure(plugin, explainStart(plugin, (error as NodeJS.ErrnoException).code))
  } finally {
    deadline.release()
  }
}

function explainStart({ installHint }: ExecPlugin, code: string | undefined): string {
  if (code === 'EACCES') return 'may not be executed; check its permissions'
  if (code !== 'ENOENT') return `cannot be started (${code})`
  return `is not there; ${installHint?.trim() ?? 'install it, or put its folder into PATH'}`
}

function describeEnd({ status }: Printed): string {
  return status === null ? 'a signal' : `status ${status}`
}

function describeComplaint({ env }: ExecPlugin, { stdout, stderr }: Printed): string {
  const shown = hideSecrets(stderr, [...Object.values(env), ...stdout.split(/[\s",:]+/)])
  return shown === '' ? '' : `: ${shown}`
}

function readAnswer(plugin: ExecPlugin, stdout: string): Fetched {
  const answer = parse(stdout)
  if (!isPlainObject(answer) || getOwn(answer, 'kind') !== 'ExecCredential') {
    throw failure(plugin, 'has printed no ExecCredential, but something that is not shown here')
  }
  if (getOwn(answer, 'apiVersion') !== plugin.apiVersion) {
    throw failure(plugin, `has not answered as ${plugin.apiVersion}; set the "apiVersion" that it speaks`)
  }
  const { path } = plugin.found
  const entry = getOwn(answer, 'status')
  const status: Found = { path, title: 'status of the ExecCredential', entry: isPlainObject(entry) ? entry : {} }
  const fetched: Fetched = {
    token: text(status, 'token'),
    certificateData: text(status, 'clientCertificateData'),
    privateKeyData: text(status, 'clientKeyData'),
    expiration: toExpiration(plugin, text(status, 'expirationTimestamp')),
  }
  if (fetched.token === undefined && fetched.certificateData === undefined) {
    throw failure(plugin, 'has printed neither a token nor a client certificate')
  }
  return fetched
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toExpiration(plugin: ExecPlugin, timestamp: string | undefined): Date | undefined {
  if (timestamp === undefined) return undefined
  const date = new Date(timestamp)
  if (Number.isNaN(date.getTime())) throw failure(plugin, 'has printed an "expirationTimestamp" that is no time')
  return date
}

function failure({ found, command }: ExecPlugin, why: string): Error {
  return refusal(found.path, `the program ${JSON.stringify(command)} (${found.title}) ${why}`)
}
