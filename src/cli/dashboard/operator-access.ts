/**
 * How `kopf top` and `kopf dashboard` reach an operator and log in to it. The API server does not pass the credentials of the kubeconfig on to a pod, so that the
 * operator gets a token in the body of the login.
 */
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { ConnectionInfo } from '../../client/auth/connection-info.ts'
import { readCredentialFiles } from '../../client/auth/credential-files.ts'
import { createHttpsTransport } from '../../client/http/transport.ts'
import { objectPath } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import { KopfError } from '../../errors.ts'
import { getObject, getString } from '../../util/json/json.ts'
import type { Transport } from '../../util/transport.ts'
import { CommandCluster, toCommandError } from '../cluster.ts'
import type { DashboardLogin } from '../dashboard-client.ts'
import { login } from '../options/cluster.ts'
import type { AccessArguments } from './access-options.ts'
import { findOperatorPod, type OperatorPod } from './operator-pod.ts'
import { PodProxy } from './pod-proxy.ts'

/** A way to an operator. */
export interface OperatorAccess extends AsyncDisposable {
  readonly transport: Transport
  readonly login: () => Promise<DashboardLogin>
}

export interface AccessOptions {
  readonly args: AccessArguments
  /** The name of the operator in the cluster. */
  readonly name: string | undefined
  /** Called with each pod that is used. */
  readonly onPod?: (pod: OperatorPod) => void
}

/** The operator in a cluster, through its API server. */
export function accessInCluster({ args, name, onPod }: AccessOptions): OperatorAccess {
  const open = async () => CommandCluster.open(args)
  let namespace = args.namespace
  const proxy = new PodProxy({
    open: async () => {
      const cluster = await open()
      namespace ??= cluster.namespace
      return cluster
    },
    findPod: (session) =>
      findOperatorPod(session, { namespace: namespace!, name, selector: args.selector, port: args.podPort }),
    ...(onPod && { onPod }),
  })
  const tokens = new TokenSource(args, async () => ({ session: await proxy.session(), namespace: namespace! }))
  return {
    transport: proxy,
    login: async () => ({ token: await tokens.read() }),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}

export interface UrlArguments extends AccessArguments {
  readonly url: string
  readonly certificateAuthority?: string
  readonly insecure?: boolean
}

/** The operator at an address: with the code in the address, otherwise with a token. */
export function accessByUrl(args: UrlArguments): OperatorAccess {
  const url = parseUrl(args.url)
  const code = /^#code=(.+)$/.exec(url.hash)?.[1]
  const server = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  const { certificateAuthority: caPath, insecure } = args
  const connection = new ConnectionInfo({ server, caPath, insecure })
  const transport = createHttpsTransport(connection)
  let cluster: Promise<CommandCluster> | undefined
  const tokens = new TokenSource(args, async () => {
    cluster ??= CommandCluster.open(args)
    return { session: (await cluster).session, namespace: args.namespace ?? (await cluster).namespace }
  })
  let isCodeUsed = false
  return {
    transport,
    login: async () => {
      if (code !== undefined) {
        if (isCodeUsed) throw codeUsedError()
        isCodeUsed = true
        return { code: decodeURIComponent(code) }
      }
      const token = await tokens.read()
      // Throws if others could read the token on its way.
      new ConnectionInfo({ server, token })
      return { token }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([transport.close(), cluster?.then((one) => one[Symbol.asyncDispose]())])
    },
  }
}

function parseUrl(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new KopfError(
    'KOPF_DASHBOARD_UNREACHABLE',
    `Cannot reach the operator at ${JSON.stringify(given)}: expected an address such as http://127.0.0.1:8090 or https://operator.example.com`,
  )
}

function codeUsedError(): KopfError {
  const message =
    'Cannot log in to the operator again: the code of the address works once; take a new one, in kopf dev with the key o'
  return new KopfError('KOPF_LOGIN', message)
}

/** A token for the operator, read again at each login: those of the kubeconfig expire. */
class TokenSource {
  readonly #args: AccessArguments
  readonly #cluster: () => Promise<{ readonly session: Session; readonly namespace: string }>
  /** Standard input can be read once. */
  #piped: Promise<string> | undefined

  constructor(
    args: AccessArguments,
    cluster: () => Promise<{ readonly session: Session; readonly namespace: string }>,
  ) {
    this.#args = args
    this.#cluster = cluster
  }

  async read(): Promise<string> {
    const { token, tokenFile, serviceAccount } = this.#args
    if (token !== undefined) return token
    if (tokenFile === '-') {
      this.#piped ??= text(process.stdin)
      return (await this.#piped).trim()
    }
    if (tokenFile !== undefined) return readFileSync(tokenFile, 'utf8').trim()
    if (serviceAccount !== undefined) return await this.#create(serviceAccount)
    return tokenOf(await login(this.#args))
  }

  /** A token of the TokenRequest API. */
  async #create(account: string): Promise<string> {
    const { session, namespace } = await this.#cluster()
    const [name, place = namespace] = account.split('/', 2).toReversed() as [string, string?]
    const resource = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true }
    const path = objectPath(resource, { name, namespace: place }, 'token')
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: tokenSeconds },
    }
    const answer = await session.request({ method: 'POST', path, body }).catch((error: unknown) => {
      const target = { ...resource, plural: 'serviceaccounts/token' }
      throw toCommandError(error, { verb: 'create', resource: target, name, namespace: place, verbs: ['create'] })
    })
    return getString(getObject(answer, 'status') ?? {}, 'token') ?? ''
  }
}

/** The lifetime of a token for a service account. The session of the operator ends when its token is not accepted any more. */
const tokenSeconds = 3600

function tokenOf(connection: ConnectionInfo): string {
  const { token } = readCredentialFiles(connection).reveal()
  if (token !== undefined) return token
  throw new KopfError(
    'KOPF_LOGIN',
    'Cannot log in to the operator: the kubeconfig has no token, and the API server does not pass client certificates and passwords on; use a token of a ' +
      'service account with --service-account NAME, or give one with --token-file',
  )
}
