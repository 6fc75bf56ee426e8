/**
 * Parses the `exec` section of a kubeconfig's user: the credential plugin and its input. Called by kubeconfig.ts; exec-plugin.ts runs
 * it.
 */
import { readFileSync } from 'node:fs'
import { getObjects, getOwn, isPlainObject, type Json } from '../../util/json/json.ts'
import {
  type FoundEntry,
  kubeconfigError,
  optionalFlag,
  optionalText,
  requireText,
  resolvePath,
  textList,
  throwFieldError,
} from './kubeconfig-entries.ts'

export interface ExecPlugin {
  /** The kubeconfig and the entry, for messages. */
  readonly found: FoundEntry
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint: string | undefined
  /** The cluster's entry for the plugin; undefined without `provideClusterInfo`. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
}

const group = 'client.authentication.k8s.io'
const versions = [`${group}/v1`, `${group}/v1beta1`]

export function readExecPlugin(exec: FoundEntry, cluster: FoundEntry): ExecPlugin {
  const apiVersion = requireText(exec, 'apiVersion')
  if (!versions.includes(apiVersion)) {
    throwFieldError(exec, 'apiVersion', `is ${JSON.stringify(apiVersion)}; expected ${versions.join(' or ')}`)
  }
  if (optionalText(exec, 'interactiveMode') === 'Always') {
    throwFieldError(
      exec,
      'interactiveMode',
      'is "Always", and there is no terminal; use a program that asks no questions',
    )
  }
  return {
    found: exec,
    apiVersion,
    command: toCommand(exec),
    args: textList(exec, 'args'),
    env: toEnvironment(exec),
    installHint: optionalText(exec, 'installHint'),
    cluster: optionalFlag(exec, 'provideClusterInfo') ? toClusterInfo(cluster) : undefined,
  }
}

/** A bare name is searched in PATH; a relative path is relative to the kubeconfig. */
function toCommand(exec: FoundEntry): string {
  const command = requireText(exec, 'command')
  return /[/\\]/.test(command) ? resolvePath(exec, command) : command
}

function toEnvironment(exec: FoundEntry): Record<string, string> {
  const list = getOwn(exec.entry, 'env') ?? []
  const isList = Array.isArray(list) && list.every((one) => isPlainObject(one))
  if (!isList) throwFieldError(exec, 'env', 'is not a list of names and values')
  const { path, title } = exec
  const variables = list.map((entry) => ({ path, title: `"env" of ${title}`, entry: entry as FoundEntry['entry'] }))
  return Object.fromEntries(variables.map((one) => [requireText(one, 'name'), optionalText(one, 'value') ?? '']))
}

/** The cluster's entry with the CA's contents instead of its path, and with the extension for exec plugins as `config`. */
function toClusterInfo(cluster: FoundEntry): Record<string, unknown> {
  return {
    server: requireText(cluster, 'server'),
    ...optionalField('tls-server-name', optionalText(cluster, 'tls-server-name')),
    ...optionalField('insecure-skip-tls-verify', optionalFlag(cluster, 'insecure-skip-tls-verify') || undefined),
    ...optionalField('certificate-authority-data', readCertificateAuthority(cluster)),
    ...optionalField('proxy-url', optionalText(cluster, 'proxy-url')),
    ...optionalField('config', findExecExtension(cluster)),
  }
}

function optionalField(key: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [key]: value }
}

function readCertificateAuthority(cluster: FoundEntry): string | undefined {
  const file = optionalText(cluster, 'certificate-authority')
  const data = optionalText(cluster, 'certificate-authority-data')
  if (data !== undefined || file === undefined) return data
  const path = resolvePath(cluster, file)
  try {
    return readFileSync(path).toString('base64')
  } catch (error) {
    throw kubeconfigError(path, `it cannot be read (${(error as NodeJS.ErrnoException).code})`, error)
  }
}

function findExecExtension(cluster: FoundEntry): Json | undefined {
  const found = getObjects(cluster.entry, 'extensions').find(({ name }) => name === `${group}/exec`)
  return found && getOwn(found, 'extension')
}
