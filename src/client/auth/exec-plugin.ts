/**
 * Runs a credential plugin of a kubeconfig (`exec`) with the protocol of client-go: ExecCredential, v1 and v1beta1. Its standard
 * output is never shown; errors show the end of its standard error, without possible secrets.
 */
import { systemClock } from '../../util/async/clock.ts'
import { getObject, getOwn, isPlainObject } from '../../util/json/json.ts'
import { tryParseJsonText } from '../../util/json/json-text.ts'
import { captureProgram, type ProgramOutput } from '../../util/process/child-program.ts'
import { SessionDeadlines } from '../session-deadline.ts'
import type { ConnectionInfoOptions } from './connection-info.ts'
import type { ExecPlugin } from './exec-plugin-config.ts'
import { type FoundEntry, kubeconfigError, optionalText } from './kubeconfig-entries.ts'

/** Timeout for the plugin: it may wait for user input or for an unreachable network. */
const timeoutMs = 60_000

type PluginCredentials = Pick<ConnectionInfoOptions, 'token' | 'certificateData' | 'privateKeyData' | 'expiration'>

/** Rejects with a `KOPF_KUBECONFIG` error if the plugin fails or prints no valid ExecCredential. */
export async function runExecPlugin(plugin: ExecPlugin): Promise<PluginCredentials> {
  const printed = await run(plugin)
  if (printed.status !== 0) {
    throw pluginError(plugin, `ended with ${describeEnd(printed)}${describeStderr(plugin, printed)}`)
  }
  return parseExecCredential(plugin, printed.stdout)
}

async function run(plugin: ExecPlugin): Promise<ProgramOutput> {
  const { command, args, env, apiVersion, cluster } = plugin
  const toTimeoutError = () => pluginError(plugin, `did not end within ${timeoutMs / 1000} seconds`)
  const deadline = new SessionDeadlines(systemClock, undefined).start(timeoutMs, undefined, toTimeoutError)
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
    // Not as the cause: Node's error has all arguments, which may contain secrets.
    throw pluginError(plugin, explainStart(plugin, (error as NodeJS.ErrnoException).code))
  } finally {
    deadline.release()
  }
}

function explainStart({ installHint }: ExecPlugin, code: string | undefined): string {
  if (code === 'EACCES') return 'may not be executed; check its permissions'
  if (code !== 'ENOENT') return `cannot be started (${code})`
  return `is not there; ${installHint?.trim() ?? 'install it, or put its folder into PATH'}`
}

function describeEnd({ status }: ProgramOutput): string {
  return status === null ? 'a signal' : `status ${status}`
}

function describeStderr({ env }: ExecPlugin, { stdout, stderr }: ProgramOutput): string {
  const shown = hideSecrets(stderr, [...Object.values(env), ...stdout.split(/[\s",:]+/)])
  return shown === '' ? '' : `: ${shown}`
}

function parseExecCredential(plugin: ExecPlugin, stdout: string): PluginCredentials {
  const credential = tryParseJsonText(stdout)
  if (!isPlainObject(credential) || getOwn(credential, 'kind') !== 'ExecCredential') {
    throw pluginError(plugin, 'has printed something else than an ExecCredential, which is not shown here')
  }
  if (getOwn(credential, 'apiVersion') !== plugin.apiVersion) {
    throw pluginError(plugin, `has not answered as ${plugin.apiVersion}; set the "apiVersion" that it supports`)
  }
  const { path } = plugin.found
  const status: FoundEntry = {
    path,
    title: 'status of the ExecCredential',
    entry: getObject(credential, 'status') ?? {},
  }
  const credentials: PluginCredentials = {
    token: optionalText(status, 'token'),
    certificateData: optionalText(status, 'clientCertificateData'),
    privateKeyData: optionalText(status, 'clientKeyData'),
    expiration: toExpiration(plugin, optionalText(status, 'expirationTimestamp')),
  }
  if (credentials.token === undefined && credentials.certificateData === undefined) {
    throw pluginError(plugin, 'has printed neither a token nor a client certificate')
  }
  return credentials
}

function toExpiration(plugin: ExecPlugin, timestamp: string | undefined): Date | undefined {
  if (timestamp === undefined) return undefined
  const date = new Date(timestamp)
  if (Number.isNaN(date.getTime())) throw pluginError(plugin, 'has printed an "expirationTimestamp" that is not a time')
  return date
}

function pluginError({ found, command }: ExecPlugin, why: string): Error {
  return kubeconfigError(found.path, `the program ${JSON.stringify(command)} (${found.title}) ${why}`)
}

/** Maximum length of a shown text; longer texts lose their start. */
const maxShownLength = 500

/** Shorter secrets are not replaced: such strings occur in ordinary text. */
const minSecretLength = 6

/** Makes the output of another program safe to show: one line, limited length, `(hidden)` in place of possible secrets. Pure. */
export function hideSecrets(text: string, secrets: readonly string[] = []): string {
  const shown = secrets
    .filter((secret) => secret.length >= minSecretLength)
    .reduce((rest, secret) => rest.replaceAll(secret, '(hidden)'), text)
    // Values after such words, and strings as long as a token.
    .replaceAll(/(token|password|secret|key|bearer|authorization)(["'\s:=]+)[^\s"',]+/gi, '$1$2(hidden)')
    .replaceAll(/[\w+/=~.-]{40,}/g, '(hidden)')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return shown.length > maxShownLength ? `…${shown.slice(-maxShownLength)}` : shown
}
