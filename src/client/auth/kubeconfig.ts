/**
 * Login with a kubeconfig: the files of `KUBECONFIG` or `~/.kube/config`, read at each call and merged as kubectl does.
 * One of the few files that may read the environment. Messages name files and entries, never contents.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { listNames } from '../../util/text/did-you-mean.ts'
import { parseYaml } from '../../util/yaml.ts'
import { ConnectionInfo, type ConnectionInfoOptions, type Impersonation } from './connection-info.ts'
import { runExecPlugin } from './exec-plugin.ts'
import { readExecPlugin } from './exec-plugin-config.ts'
import {
  type FoundEntry,
  findCurrentContext,
  findEntry,
  findSection,
  type KubeconfigSource,
  kubeconfigError,
  listContexts,
  optionalFlag,
  optionalText,
  pemOptions,
  requireText,
  resolvePath,
  textList,
  throwFieldError,
} from './kubeconfig-entries.ts'

/** Options of `loginWithKubeconfig`. */
export interface KubeconfigLoginOptions {
  /** A kubeconfig, which must exist. Default: the files of `KUBECONFIG`, otherwise `~/.kube/config`. */
  readonly path?: string
  /** The context to use. Default: `current-context`. */
  readonly context?: string
}

/** The priority of these credentials, as in Kopf: lower than that of a service account. */
const priority = 10

/**
 * Returns the credentials of a context of the kubeconfig, or undefined if there is no kubeconfig. For login handlers; without any
 * login handler the operator calls it itself. The result is a promise only for users with a credential plugin (`exec`). Throws a
 * `KopfError` (`KOPF_KUBECONFIG`) for an invalid kubeconfig.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginWithKubeconfig({ context: 'dev' }))
 * ```
 */
export function loginWithKubeconfig({
  path,
  context,
}: KubeconfigLoginOptions = {}): ConnectionInfo | Promise<ConnectionInfo> | undefined {
  const sources = readSources(path)
  if (sources.length === 0) return undefined
  const name = context ?? findCurrentContext(sources)
  if (name === undefined)
    throw kubeconfigError(sources[0]!.path, 'there is no current-context; set one with "kubectl config use-context"')
  const chosen = findEntry(sources, 'context', name)
  const cluster = findEntry(sources, 'cluster', requireText(chosen, 'cluster'))
  const userName = optionalText(chosen, 'user')
  const user = userName === undefined ? undefined : findEntry(sources, 'user', userName)
  return toConnection(chosen, cluster, user)
}

/** The name of the context that `loginWithKubeconfig` uses; undefined if there is none. */
export function findContextName({ path, context }: KubeconfigLoginOptions = {}): string | undefined {
  return context ?? findCurrentContext(readSources(path))
}

/** The names of the contexts in the kubeconfig; none if there is no kubeconfig. Throws for an invalid one. */
export function contextsOfKubeconfig(path?: string): string[] {
  return listContexts(readSources(path))
}

function readSources(path: string | undefined): KubeconfigSource[] {
  if (path !== undefined) return [readSource(path) ?? throwMissingFile(path)]
  const listed = listedPaths()
  const paths = listed.length > 0 ? listed : [join(homedir(), '.kube', 'config')]
  return paths.map(readSource).filter((source) => source !== undefined)
}

/** The files of `KUBECONFIG`. As in kubectl, a missing one is skipped. */
function listedPaths(): string[] {
  return (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((one) => one !== '')
}

/** Why `loginWithKubeconfig` has found no kubeconfig, for messages. */
export function whyNoKubeconfig(): string {
  const listed = listedPaths()
  if (listed.length === 0) return 'there is no kubeconfig'
  return `KUBECONFIG names ${listNames(listed)}, and there is no such file`
}

function readSource(path: string): KubeconfigSource | undefined {
  const content = readText(path)
  if (content === undefined) return undefined
  const config = parse(path, content)
  // kubectl accepts an empty file as an empty kubeconfig, for example one made by `mktemp`.
  if (config === undefined) return { path, config: {} }
  if (!isPlainObject(config)) throw kubeconfigError(path, 'it is not a mapping; expected a kubeconfig')
  return { path, config }
}

/** Undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function parse(path: string, content: string): unknown {
  try {
    // Our own kubeconfigs are JSON, which is YAML too: the parser of YAML takes 10 ms to load.
    return parseJson(content) ?? parseYaml(content)[0]
  } catch (error) {
    // The parser's message may quote a line with a secret; only its position is shown.
    const position = /at line \d+, column \d+/.exec((error as Error).message)?.[0]
    throw kubeconfigError(path, `it is not valid YAML${position === undefined ? '' : ` ${position}`}`)
  }
}

/** Undefined if there is no such file. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw kubeconfigError(path, code === 'EACCES' ? 'this user may not read it' : `it cannot be read (${code})`, error)
  }
}

function throwMissingFile(path: string): never {
  throw kubeconfigError(path, 'there is no such file')
}

function toConnection(
  context: FoundEntry,
  cluster: FoundEntry,
  user: FoundEntry | undefined,
): ConnectionInfo | Promise<ConnectionInfo> {
  const options: ConnectionInfoOptions = {
    ...clusterOptions(cluster),
    ...(user && userOptions(user)),
    defaultNamespace: optionalText(context, 'namespace'),
    priority,
  }
  const build = (fetched: Partial<ConnectionInfoOptions> = {}) => {
    try {
      return new ConnectionInfo({ ...options, ...fetched })
    } catch (error) {
      throw kubeconfigError(
        (user ?? cluster).path,
        `${context.title} does not work: ${(error as Error).message}`,
        error,
      )
    }
  }
  const exec = user && findSection(user, 'exec')
  // As in kubectl, a token or a username has precedence over the plugin.
  if (exec === undefined || options.token !== undefined || options.username !== undefined) return build()
  return runExecPlugin(readExecPlugin(exec, cluster)).then(build)
}

function clusterOptions(cluster: FoundEntry) {
  return {
    server: requireText(cluster, 'server'),
    ...pemOptions(cluster, 'certificate-authority', 'caPath', 'caData'),
    insecure: optionalFlag(cluster, 'insecure-skip-tls-verify'),
    tlsServerName: optionalText(cluster, 'tls-server-name'),
    proxyUrl: optionalText(cluster, 'proxy-url'),
  }
}

function userOptions(user: FoundEntry) {
  return {
    ...pemOptions(user, 'client-certificate', 'certificatePath', 'certificateData'),
    ...pemOptions(user, 'client-key', 'privateKeyPath', 'privateKeyData'),
    username: optionalText(user, 'username'),
    password: optionalText(user, 'password'),
    ...tokenOptions(user),
    impersonate: impersonationOf(user),
  }
}

/** As in kubectl, a token file has precedence over a token, since files are renewed. */
function tokenOptions(user: FoundEntry): Pick<ConnectionInfoOptions, 'token' | 'tokenPath'> {
  const file = optionalText(user, 'tokenFile')
  if (file === undefined) return { token: optionalText(user, 'token') ?? providedToken(user) }
  const tokenPath = resolvePath(user, file)
  return { tokenPath, token: (readText(tokenPath) ?? throwMissingFile(tokenPath)).trim() }
}

/** A token that a legacy `auth-provider` has stored. It is not renewed here: that takes the provider's own tool. */
function providedToken(user: FoundEntry): string | undefined {
  const provider = findSection(user, 'auth-provider')
  if (provider === undefined) return undefined
  const config = findSection(provider, 'config')
  const token = config && (optionalText(config, 'access-token') ?? optionalText(config, 'id-token'))
  if (token !== undefined) return token
  const name = JSON.stringify(optionalText(provider, 'name') ?? '')
  return throwFieldError(user, 'auth-provider', `(${name}) has no token in it; use a program instead ("exec")`)
}

function impersonationOf(user: FoundEntry): Impersonation | undefined {
  const name = optionalText(user, 'as')
  const [uid, groups, extra] = [
    optionalText(user, 'as-uid'),
    textList(user, 'as-groups'),
    findSection(user, 'as-user-extra'),
  ]
  if (name === undefined) {
    if (uid === undefined && groups.length === 0 && extra === undefined) return undefined
    return throwFieldError(
      user,
      'as',
      'is missing, although there are other "as-…" fields; name the user to impersonate',
    )
  }
  const keys = Object.keys(extra?.entry ?? {}).filter((key) => getOwn(extra!.entry, key) !== null)
  return { user: name, uid, groups, extra: Object.fromEntries(keys.map((key) => [key, textList(extra!, key)])) }
}
