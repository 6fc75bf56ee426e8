/**
 * The login by kubeconfig: the files of `KUBECONFIG` or `~/.kube/config`, read anew at each call, merged as kubectl does.
 * One of the two files of this room that may read the environment. Messages name files and entries, never contents.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { KopfError } from '../errors.ts'
import { getOwn, isPlainObject, type Json } from '../util/json.ts'
import { parseYamlSync } from '../util/yaml.ts'
import { ConnectionInfo } from './credentials.ts'

export interface KubeconfigLoginOptions {
  /** One file instead of those of `KUBECONFIG` and `~/.kube/config`. It must exist. */
  readonly path?: string
  /** The context to use; the file's current one by default. */
  readonly context?: string
}

type Entry = { readonly [key: string]: Json }

interface Source {
  readonly path: string
  readonly config: Entry
}

interface Found {
  /** The file it was found in: relative paths in it start there. */
  readonly path: string
  /** What it is, for messages: `user "admin"`. */
  readonly title: string
  readonly entry: Entry
}

/**
 * Credentials of the current context of the kubeconfig; undefined where there is no such file.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginWithKubeconfig({ context: 'dev' }))
 * ```
 */
export function loginWithKubeconfig({ path, context }: KubeconfigLoginOptions = {}): ConnectionInfo | undefined {
  const sources = readSources(path)
  if (sources.length === 0) return undefined
  const name = context ?? firstText(sources, 'current-context')
  if (name === undefined)
    throw refusal(sources[0]!.path, 'there is no current-context; set one with "kubectl config use-context"')
  const chosen = find(sources, 'context', name)
  const cluster = find(sources, 'cluster', need(chosen, 'cluster'))
  const userName = text(chosen, 'user')
  const user = userName === undefined ? undefined : find(sources, 'user', userName)
  return toConnection(chosen, cluster, user)
}

function readSources(path: string | undefined): Source[] {
  if (path !== undefined) return [readSource(path) ?? missing(path)]
  const listed = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((one) => one !== '')
  const paths = listed.length > 0 ? listed : [join(homedir(), '.kube', 'config')]
  return paths.map(readSource).filter((source) => source !== undefined)
}

function readSource(path: string): Source | undefined {
  const content = readText(path)
  if (content === undefined) return undefined
  const config = parse(path, content)
  // An empty file is a kubeconfig with nothing in it: `mktemp` makes one.
  if (config === undefined) return { path, config: {} }
  if (!isPlainObject(config)) throw refusal(path, 'it is not a mapping; expected a kubeconfig')
  return { path, config }
}

function parse(path: string, content: string): unknown {
  try {
    return parseYamlSync(content)[0]
  } catch (error) {
    // The parser's message may repeat a line of the file, and with it a secret: only the place is told.
    const place = /at line \d+, column \d+/.exec((error as Error).message)?.[0]
    throw refusal(path, `it is not valid YAML${place === undefined ? '' : ` ${place}`}`)
  }
}

/** Undefined where there is no file. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw refusal(path, code === 'EACCES' ? 'this user may not read it' : `it cannot be read (${code})`, error)
  }
}

function missing(path: string): never {
  throw refusal(path, 'there is no such file')
}

function firstText(sources: readonly Source[], key: string): string | undefined {
  for (const { config } of sources) {
    const value = getOwn(config, key)
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

/** The first file that has it wins. */
function find(sources: readonly Source[], kind: 'context' | 'cluster' | 'user', name: string): Found {
  for (const { path, config } of sources) {
    const entries = getOwn(config, `${kind}s`)
    const found = Array.isArray(entries) ? entries.find((one) => isPlainObject(one) && one['name'] === name) : undefined
    if (found === undefined) continue
    const entry = getOwn(found as Entry, kind) ?? {}
    const title = `${kind} ${JSON.stringify(name)}`
    if (!isPlainObject(entry)) throw refusal(path, `the ${title} is not a mapping`)
    return { path, title, entry }
  }
  const paths = sources.map(({ path }) => path).join(delimiter)
  throw refusal(paths, `there is no ${kind} ${JSON.stringify(name)} in it`)
}

function toConnection(context: Found, cluster: Found, user: Found | undefined): ConnectionInfo {
  const options = {
    ...clusterOptions(cluster),
    ...(user && userOptions(user)),
    defaultNamespace: text(context, 'namespace'),
  }
  try {
    return new ConnectionInfo(options)
  } catch (error) {
    throw refusal((user ?? cluster).path, `${context.title} does not work: ${(error as Error).message}`, error)
  }
}

function clusterOptions(cluster: Found) {
  return {
    server: need(cluster, 'server'),
    ...pem(cluster, 'certificate-authority', 'caPath', 'caData'),
    insecure: flag(cluster, 'insecure-skip-tls-verify'),
    tlsServerName: text(cluster, 'tls-server-name'),
    proxyUrl: text(cluster, 'proxy-url'),
  }
}

function userOptions(user: Found) {
  for (const unsupported of ['exec', 'as']) {
    if (getOwn(user.entry, unsupported) === undefined) continue
    const what = unsupported === 'exec' ? 'gets its credentials from a program (exec)' : 'acts as somebody else (as)'
    throw refusal(
      user.path,
      `the ${user.title} ${what}, which is not supported yet; use a token or a client certificate`,
    )
  }
  return {
    ...pem(user, 'client-certificate', 'certificatePath', 'certificateData'),
    ...pem(user, 'client-key', 'privateKeyPath', 'privateKeyData'),
    username: text(user, 'username'),
    password: text(user, 'password'),
    token: tokenOf(user),
  }
}

/** As in kubectl, a token file counts before a token: it is the one that is renewed. */
function tokenOf(user: Found): string | undefined {
  const file = text(user, 'tokenFile')
  if (file !== undefined) {
    const path = beside(user, file)
    return (readText(path) ?? missing(path)).trim()
  }
  const provider = getOwn(user.entry, 'auth-provider')
  const config = isPlainObject(provider) ? getOwn(provider, 'config') : undefined
  const access = isPlainObject(config) ? getOwn(config, 'access-token') : undefined
  return text(user, 'token') ?? (typeof access === 'string' && access !== '' ? access : undefined)
}

/** Data before a file, as in kubectl. */
function pem<P extends string, D extends string>(found: Found, key: string, pathName: P, dataName: D) {
  const data = text(found, `${key}-data`)
  const file = text(found, key)
  if (data !== undefined) return { [dataName]: data } as { [K in D]: string }
  return (file === undefined ? {} : { [pathName]: beside(found, file) }) as { [K in P]?: string }
}

/** Relative paths start at the file they are written in. */
function beside({ path }: Found, file: string): string {
  return resolve(dirname(path), file)
}

function need(found: Found, key: string): string {
  return text(found, key) ?? refuseField(found, key, 'is missing')
}

/** Undefined where it is absent or empty, which kubectl does not tell apart. */
function text(found: Found, key: string): string | undefined {
  const value = getOwn(found.entry, key)
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : refuseField(found, key, 'is not text; put it into quotes')
}

function flag(found: Found, key: string): boolean {
  const value = getOwn(found.entry, key) ?? false
  return typeof value === 'boolean' ? value : refuseField(found, key, 'is neither true nor false')
}

function refuseField({ path, title }: Found, key: string, why: string): never {
  throw refusal(path, `"${key}" of the ${title} ${why}`)
}

function refusal(path: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_KUBECONFIG', `Cannot log in with the kubeconfig "${path}": ${why}`, { cause })
}
