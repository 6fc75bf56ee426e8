/**
 * The address of the API server and the credentials for it, as one value. Created by the logins (kubeconfig.ts, service-account.ts) and by
 * users' login handlers; read by transport.ts. Its printed form contains no secrets.
 */
import { type InspectOptions, inspect } from 'node:util'
import { brand } from '../../errors.ts'
import { checkConnection } from './connection-info-checks.ts'

/** The options of `ConnectionInfo`: the address of an API server and the credentials for it. */
export interface ConnectionInfoOptions {
  /** The address of the API server: `https://10.0.0.1:6443`. May have a path, for example behind a proxy. */
  readonly server: string
  /** A PEM file with the CA that signed the server's certificate. Read again while in use. Default: the CAs of Node. */
  readonly caPath?: string | undefined
  /** The CA as PEM or base64 of PEM, instead of `caPath`. */
  readonly caData?: string | undefined
  /** Whether the server's certificate is not verified. Only for experiments. Default: false. */
  readonly insecure?: boolean | undefined
  /** The name in the server's certificate. Default: the host of `server`. */
  readonly tlsServerName?: string | undefined
  /** The user of basic authentication, instead of a token. */
  readonly username?: string | undefined
  /** The password of basic authentication. Default: empty. */
  readonly password?: string | undefined
  /** The scheme of the `Authorization` header. Default: `Bearer`. */
  readonly scheme?: string | undefined
  /** The token of the `Authorization` header. */
  readonly token?: string | undefined
  /** A file with the token, preferred to `token`. Read again while in use, since tokens are renewed in their files. */
  readonly tokenPath?: string | undefined
  /** A PEM file with the client certificate. Read again while in use. */
  readonly certificatePath?: string | undefined
  /** The client certificate as PEM or base64 of PEM, instead of `certificatePath`. */
  readonly certificateData?: string | undefined
  /** A PEM file with the key of the client certificate. Read again while in use. */
  readonly privateKeyPath?: string | undefined
  /** The key as PEM or base64 of PEM, instead of `privateKeyPath`. */
  readonly privateKeyData?: string | undefined
  /** The namespace for requests that name none. Default: none. */
  readonly defaultNamespace?: string | undefined
  /** A user to act as; the credentials need the permission to impersonate. Default: none. */
  readonly impersonate?: Impersonation | undefined
  /** An HTTP proxy: `http://proxy.example.com:3128`. May contain a username and a password. Default: see `trustEnv`. */
  readonly proxyUrl?: string | undefined
  /** Whether the proxy of `HTTPS_PROXY` and `NO_PROXY` is used. Default: `settings.networking.trustEnv`. */
  readonly trustEnv?: boolean | undefined
  /** If several logins return credentials, those with the highest priority are used. Default: 0. */
  readonly priority?: number | undefined
  /** When the credentials expire: the operator logs in again before it sends a request after that. Default: never. */
  readonly expiration?: Date | undefined
}

/** A user to act as (`Impersonate-User` and the other headers): the API server then applies the permissions of that user. */
export interface Impersonation {
  /** The name of the user (`Impersonate-User`). */
  readonly user: string
  /** The uid of the user (`Impersonate-Uid`). Default: none. */
  readonly uid?: string | undefined
  /** The groups of the user (`Impersonate-Group`). Default: the API server derives them from the user. */
  readonly groups?: readonly string[] | undefined
  /** Further attributes of the user (`Impersonate-Extra-…`). Default: none. */
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

const shown = [
  'server',
  'caPath',
  'insecure',
  'tlsServerName',
  'username',
  'scheme',
  'tokenPath',
  'certificatePath',
  'privateKeyPath',
  'defaultNamespace',
  'impersonate',
  'trustEnv',
  'priority',
  'expiration',
] as const satisfies ReadonlyArray<keyof ConnectionInfoOptions>

/** Options whose values are not printed: secrets, certificates for their length, the proxy's URL for a password in it. */
const hidden = [
  'caData',
  'password',
  'token',
  'certificateData',
  'privateKeyData',
  'proxyUrl',
] as const satisfies ReadonlyArray<keyof ConnectionInfoOptions>

/**
 * The address of an API server and the credentials for it: the result of a login handler (`on.login`). The constructor throws a
 * `KopfError` (`KOPF_CONNECTION_INFO`) for options that cannot work. Printing it shows no secrets.
 *
 * @example
 * ```ts
 * kopf.on.login(() => new ConnectionInfo({ server: 'https://10.0.0.1:6443', tokenPath: '/run/token', caPath: '/run/ca.crt' }))
 * ```
 */
export class ConnectionInfo {
  /** Private, so that neither printing nor spreading nor serialising shows secrets. */
  readonly #options: ConnectionInfoOptions

  /** Checks the options and copies them. */
  constructor(options: ConnectionInfoOptions) {
    checkConnection(options)
    this.#options = { ...options }
  }

  /** The address of the API server. */
  get server(): string {
    return this.#options.server
  }

  /** The namespace for requests that name none. */
  get defaultNamespace(): string | undefined {
    return this.#options.defaultNamespace
  }

  /** If several logins return credentials, those with the highest priority are used. */
  get priority(): number {
    return this.#options.priority ?? 0
  }

  /** When the credentials expire; undefined if that is not known. */
  get expiration(): Date | undefined {
    return this.#options.expiration
  }

  /** All options, including secrets. For code that connects; do not log the result. */
  reveal(): ConnectionInfoOptions {
    return { ...this.#options }
  }

  /** The options with `(hidden)` in place of secrets. */
  toJSON(): Record<string, unknown> {
    const options = this.#options
    const present = (names: ReadonlyArray<keyof ConnectionInfoOptions>) =>
      names.filter((name) => options[name] !== undefined)
    return Object.fromEntries([
      ...present(shown).map((name) => [name, options[name]]),
      ...present(hidden).map((name) => [name, '(hidden)']),
    ])
  }
}

// A login handler may load another copy of this package; `instanceof` has to work across copies.
brand('ConnectionInfo')(ConnectionInfo)

// Outside of the class, since isolated declarations cannot have a computed name from another module.
Object.defineProperty(ConnectionInfo.prototype, inspect.custom, {
  value(this: ConnectionInfo, _: number, options: InspectOptions) {
    return `ConnectionInfo ${inspect(this.toJSON(), options)}`
  },
})

/** The result of a login: nothing if there is nothing to log in with. */
export type LoginAnswer = ConnectionInfo | null | undefined

/** The connection of the run options: fixed, or a function that is called whenever credentials are needed. */
export type GivenConnection = ConnectionInfo | (() => LoginAnswer | PromiseLike<LoginAnswer>)
