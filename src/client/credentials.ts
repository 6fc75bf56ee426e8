/**
 * Where the API server is and who we are to it, as one value. Made by the logins (kubeconfig.ts, service-account.ts) and
 * by users' login handlers; read by transport.ts. What it prints never holds a secret.
 */
import { type InspectOptions, inspect } from 'node:util'
import { brand } from '../errors.ts'
import { checkConnection } from './connection-checks.ts'

/** Where an API server is, and how to be let in: the fields of a `ConnectionInfo`. */
export interface ConnectionInfoOptions {
  /** The address of the API server: `https://10.0.0.1:6443`. May have a path, as behind some proxies. */
  readonly server: string
  /** The authority that signed the server's certificate: a file, or PEM, or base64 of PEM. */
  readonly caPath?: string | undefined
  readonly caData?: string | undefined
  /** Trusts whatever certificate the server has. Only for experiments. */
  readonly insecure?: boolean | undefined
  /** The name that the server's certificate must be for, where it is not that of the address. */
  readonly tlsServerName?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** The scheme of the `Authorization` header; `Bearer` by default. */
  readonly scheme?: string | undefined
  readonly token?: string | undefined
  /** A file with the token, which counts before `token`; it is read again while it is in use, for tokens are renewed there. */
  readonly tokenPath?: string | undefined
  /** Our own certificate and its key: files, or PEM, or base64 of PEM. Files are read again, too, as is that of `caPath`. */
  readonly certificatePath?: string | undefined
  readonly certificateData?: string | undefined
  readonly privateKeyPath?: string | undefined
  readonly privateKeyData?: string | undefined
  /** For objects whose namespace nobody has told. */
  readonly defaultNamespace?: string | undefined
  /** Whom to act as, where our own credentials allow it. */
  readonly impersonate?: Impersonation | undefined
  /** An HTTP proxy on the way to the server: `http://proxy.example.com:3128`; may have a username and a password in it. */
  readonly proxyUrl?: string | undefined
  /** Whether `HTTPS_PROXY` and `NO_PROXY` of the environment count; as `settings.networking.trustEnv` says by default. */
  readonly trustEnv?: boolean | undefined
  /** Of several credentials, those with the highest are used; 0 by default. */
  readonly priority?: number | undefined
  /** When they are not valid any more: others are asked for before a request is made after that. */
  readonly expiration?: Date | undefined
}

/** Whom to act as: what the API server then allows is what that user may do. */
export interface Impersonation {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
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

/** Only whether they are there: certificates for their length, an address of a proxy for the password in it. */
const hidden = [
  'caData',
  'password',
  'token',
  'certificateData',
  'privateKeyData',
  'proxyUrl',
] as const satisfies ReadonlyArray<keyof ConnectionInfoOptions>

/**
 * Where the API server is, and the credentials for it. What a login handler returns.
 *
 * @example
 * ```ts
 * new ConnectionInfo({ server: 'https://10.0.0.1:6443', token: 'eyJ…', caData: '-----BEGIN CERTIFICATE-----…' })
 * ```
 */
export class ConnectionInfo {
  /** Kept where no printer, no spread and no serialiser looks. */
  readonly #options: ConnectionInfoOptions

  constructor(options: ConnectionInfoOptions) {
    checkConnection(options)
    this.#options = { ...options }
  }

  /** The address of the API server. */
  get server(): string {
    return this.#options.server
  }

  /** For objects whose namespace nobody has told. */
  get defaultNamespace(): string | undefined {
    return this.#options.defaultNamespace
  }

  /** Of several credentials, those with the highest are used. */
  get priority(): number {
    return this.#options.priority ?? 0
  }

  /** When they are not valid any more, if that is known. */
  get expiration(): Date | undefined {
    return this.#options.expiration
  }

  /** Everything, the secrets too: for whoever connects. */
  reveal(): ConnectionInfoOptions {
    return { ...this.#options }
  }

  /** Without secrets: of those only that they are there. */
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

// A login handler may come with a copy of this package of its own.
brand('ConnectionInfo')(ConnectionInfo)

// Not in the class: declarations that are made file by file cannot name it.
Object.defineProperty(ConnectionInfo.prototype, inspect.custom, {
  value(this: ConnectionInfo, _: number, options: InspectOptions) {
    return `ConnectionInfo ${inspect(this.toJSON(), options)}`
  },
})
