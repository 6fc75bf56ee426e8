/** The `exec` of a kubeconfig's user: which program to ask for credentials, and what to tell it. Pure but for the authority's file. */
import { readFileSync } from 'node:fs'
import { getOwn, isPlainObject, type Json } from '../util/json.ts'
import { beside, type Found, flag, need, refusal, refuseField, text, texts } from './kubeconfig-entries.ts'

export interface ExecPlugin {
  /** The kubeconfig and the entry, for messages. */
  readonly found: Found
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint: string | undefined
  /** What it is told of the cluster; undefined where it did not ask for it. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
}

const group = 'client.authentication.k8s.io'
const versions = [`${group}/v1`, `${group}/v1beta1`]

export function readExecPlugin(exec: Found, cluster: Found): ExecPlugin {
  const apiVersion = need(exec, 'apiVersion')
  if (!versions.includes(apiVersion)) {
    refuseField(exec, 'apiVersion', `is ${JSON.stringify(apiVersion)}; expected ${versions.join(' or ')}`)
  }
  if (text(exec, 'interactiveMode') === 'Always') {
    refuseField(exec, 'interactiveMode', 'is "Always", and there is nobody to talk to; use a program that asks nothing')
  }
  return {
    found: exec,
    apiVersion,
    command: toCommand(exec),
    args: texts(exec, 'args'),
    env: toEnvironment(exec),
    installHint: text(exec, 'installHint'),
    cluster: flag(exec, 'provideClusterInfo') ? toClusterInfo(cluster) : undefined,
  }
}

/** A bare name is looked for in PATH; a path starts at the file it is written in. */
function toCommand(exec: Found): string {
  const command = need(exec, 'command')
  return /[/\\]/.test(command) ? beside(exec, command) : command
}

function toEnvironment(exec: Found): Record<string, string> {
  const list = getOwn(exec.entry, 'env') ?? []
  const isList = Array.isArray(list) && list.every((one) => isPlainObject(one))
  if (!isList) refuseField(exec, 'env', 'is not a list of names and values')
  const { path, title } = exec
  const variables = list.map((entry) => ({ path, title: `"env" of ${title}`, entry: entry as Found['entry'] }))
  return Object.fromEntries(variables.map((one) => [need(one, 'name'), text(one, 'value') ?? '']))
}

/** With the certificate of the authority itself, and what the cluster has for the program in its extensions. */
function toClusterInfo(cluster: Found): Record<string, unknown> {
  return {
    server: need(cluster, 'server'),
    ...present('tls-server-name', text(cluster, 'tls-server-name')),
    ...present('insecure-skip-tls-verify', flag(cluster, 'insecure-skip-tls-verify') || undefined),
    ...present('certificate-authority-data', authorityOf(cluster)),
    ...present('proxy-url', text(cluster, 'proxy-url')),
    ...present('config', extensionOf(cluster)),
  }
}

function present(key: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [key]: value }
}

function authorityOf(cluster: Found): string | undefined {
  const file = text(cluster, 'certificate-authority')
  const data = text(cluster, 'certificate-authority-data')
  if (data !== undefined || file === undefined) return data
  const path = beside(cluster, file)
  try {
    return readFileSync(path).toString('base64')
  } catch (error) {
    throw refusal(path, `it cannot be read (${(error as NodeJS.ErrnoException).code})`, error)
  }
}

function extensionOf(cluster: Found): Json | undefined {
  const list = getOwn(cluster.entry, 'extensions')
  const found = Array.isArray(list)
    ? list.find((one) => isPlainObject(one) && one['name'] === `${group}/exec`)
    : undefined
  return isPlainObject(found) ? getOwn(found, 'extension') : undefined
}
