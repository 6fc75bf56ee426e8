/**
 * The login by kubeconfig: the files of `KUBECONFIG` or `~/.kube/config`, read anew at each call, merged as kubectl does.
 * One of the few files that may read the environment. Messages name files and entries, never contents.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { getOwn, isPlainObject } from '../util/json.ts'
import { parseYaml } from '../util/yaml.ts'
import { ConnectionInfo, type ConnectionInfoOptions, type Impersonation } from './credentials.ts'
import { runExecPlugin } from './exec-plugin.ts'
import { readExecPlugin } from './exec-stanza.ts'
import {
  beside,
  type Found,
  findCurrentContext,
  findEntry,
  flag,
  need,
  part,
  pem,
  refusal,
  refuseField,
  type Source,
  text,
  texts,
} from './kubeconfig-entries.ts'

/** Which kubeconfig to use, and what of it. */
export interface KubeconfigLoginOptions {
  /** One file instead of those of `KUBECONFIG` and `~/.kube/config`. It must exist. */
  readonly path?: string
  /** The context to use; the file's current one by default. */
  readonly context?: string
}

/** As in Kopf: below that of a service account. */
const priority = 10

/**
 * Credentials of the current context of the kubeconfig; undefined where there is no such file. A promise only where a program
 * has to be asked for them (`exec`): a login handler may return it as it is.
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
    throw refusal(sources[0]!.path, 'there is no current-context; set one with "kubectl config use-context"')
  const chosen = findEntry(sources, 'context', name)
  const cluster = findEntry(sources, 'cluster', need(chosen, 'cluster'))
  const userName = text(chosen, 'user')
  const user = userName === undefined ? undefined : findEntry(sources, 'user', userName)
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
    return parseYaml(content)[0]
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

function toConnection(
  context: Found,
  cluster: Found,
  user: Found | undefined,
): ConnectionInfo | Promise<ConnectionInfo> {
  const options: ConnectionInfoOptions = {
    ...clusterOptions(cluster),
    ...(user && userOptions(user)),
    defaultNamespace: text(context, 'namespace'),
    priority,
  }
  const make = (fetched: Partial<ConnectionInfoOptions> = {}) => {
    try {
      return new ConnectionInfo({ ...options, ...fetched })
    } catch (error) {
      throw refusal((user ?? cluster).path, `${context.title} does not work: ${(error as Error).message}`, error)
    }
  }
  const exec = user && part(user, 'exec')
  // As in kubectl, a program is not asked for what is there already.
  if (exec === undefined || options.token !== undefined || options.username !== undefined) return make()
  return runExecPlugin(readExecPlugin(exec, cluster)).then(make)
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
  return {
    ...pem(user, 'client-certificate', 'certificatePath', 'certificateData'),
    ...pem(user, 'client-key', 'privateKeyPath', 'privateKeyData'),
    username: text(user, 'username'),
    password: text(user, 'password'),
    ...tokenOptions(user),
    impersonate: impersonationOf(user),
  }
}

/** As in kubectl, a token file counts before a token: it is the one that is renewed. */
function tokenOptions(user: Found): Pick<ConnectionInfoOptions, 'token' | 'tokenPath'> {
  const file = text(user, 'tokenFile')
  if (file === undefined) return { token: text(user, 'token') ?? providedToken(user) }
  const tokenPath = beside(user, file)
  return { tokenPath, token: (readText(tokenPath) ?? missing(tokenPath)).trim() }
}

/** What an older tool has left there. Asking for a new one takes that tool: kubectl cannot do so any more either. */
function providedToken(user: Found): string | undefined {
  const provider = part(user, 'auth-provider')
  if (provider === undefined) return undefined
  const config = part(provider, 'config')
  const token = config && (text(config, 'access-token') ?? text(config, 'id-token'))
  if (token !== undefined) return token
  const name = JSON.stringify(text(provider, 'name') ?? '')
  return refuseField(user, 'auth-provider', `(${name}) has no token in it; use a program instead ("exec")`)
}

function impersonationOf(user: Found): Impersonation | undefined {
  const name = text(user, 'as')
  const [uid, groups, extra] = [text(user, 'as-uid'), texts(user, 'as-groups'), part(user, 'as-user-extra')]
  if (name === undefined) {
    if (uid === undefined && groups.length === 0 && extra === undefined) return undefined
    return refuseField(user, 'as', 'is missing, although there are other "as-…" fields; say who to act as')
  }
  const keys = Object.keys(extra?.entry ?? {}).filter((key) => getOwn(extra!.entry, key) !== null)
  return { user: name, uid, groups, extra: Object.fromEntries(keys.map((key) => [key, texts(extra!, key)])) }
}
