/** Shared by the tests of managed configurations: a webhook server without a socket, and access to the configurations. */
import { randomBytes } from 'node:crypto'
import { Operator } from 'kopf'
import type { WebhookClientConfig, WebhookContext, WebhookFn } from 'kopf/webhooks'
import { afterAll, afterEach } from 'vitest'
import { crdsPath, unconverted } from '../support/crds.ts'
import type { Body, Lab } from '../support/lab.ts'
import { type Recorded, type Recording, refusal } from '../support/recording.ts'

export type Kind = 'validating' | 'mutating'
// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
export type Loose = any

export const mergePatch = 'application/merge-patch+json'
export const registration = '/apis/admissionregistration.k8s.io/v1'
export const collection = (kind: Kind): string => `${registration}/${kind}webhookconfigurations`

/** Not a valid certificate: the API server does not parse the CA bundle of webhooks. */
export const caBundle: string = Buffer.from('-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n').toString(
  'base64',
)

/** A webhook server without a socket: it yields a client configuration, and tests pass reviews to its function directly. */
export class Desk {
  readonly events: string[] = []
  answer: WebhookFn | undefined
  #config: WebhookClientConfig
  #moved: () => void = () => {}

  constructor(config: WebhookClientConfig = { url: 'https://127.0.0.1:1/hooks' }) {
    this.#config = config
  }

  /** Yields a new client configuration. */
  move(config: WebhookClientConfig): void {
    this.#config = config
    this.#moved()
  }

  async *serve(fn: WebhookFn, { signal }: Pick<WebhookContext, 'signal'>): AsyncGenerator<WebhookClientConfig> {
    this.answer = fn
    this.events.push('opened')
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    try {
      while (!signal.aborted) {
        const moved = new Promise<void>((resolve) => (this.#moved = resolve))
        yield this.#config
        await Promise.race([moved, aborted])
      }
    } finally {
      this.events.push('closed')
    }
  }
}

/** The webhook configurations of a random name; deleted after each test. */
export class Managed {
  readonly name: string = `m${randomBytes(4).toString('hex')}.kopf.dev`
  readonly #lab: Lab

  constructor(lab: Lab) {
    this.#lab = lab
  }

  path(kind: Kind): string {
    return `${collection(kind)}/${this.name}`
  }

  /** The configuration, or undefined if it does not exist. */
  async get(kind: Kind = 'validating'): Promise<Body | undefined> {
    const { status, body } = await this.#lab.call('GET', this.path(kind))
    return status === 200 ? body : undefined
  }

  async webhooks(kind: Kind = 'validating'): Promise<Loose[] | undefined> {
    const object = await this.get(kind)
    return object && ((object['webhooks'] as Loose[] | undefined) ?? [])
  }

  /** The names of the webhooks without the suffix that is the name of the configuration. */
  async ids(kind: Kind = 'validating'): Promise<string[] | undefined> {
    return (await this.webhooks(kind))?.map(({ name }) => name.slice(0, -this.name.length - 1))
  }

  async change(patch: object, kind: Kind = 'validating'): Promise<void> {
    const { status, text } = await this.#lab.call('PATCH', this.path(kind), patch, mergePatch)
    if (status !== 200) throw new Error(`Cannot change the configuration: ${text}`)
  }

  async delete(): Promise<void> {
    for (const kind of ['validating', 'mutating'] as const) await this.#lab.call('DELETE', this.path(kind))
  }

  /** An operator that manages these configurations. */
  operator(server: Desk | Desk['serve'] = new Desk()): Operator {
    return new Operator({ settings: { admission: { managed: this.name, server } } })
  }
}

export function useManaged(lab: Lab): Managed {
  const managed = new Managed(lab)
  afterEach(async () => {
    await lab.stopAll()
    await managed.delete()
  })
  return managed
}

/** The writes to webhook configurations and CRDs, as method and path. */
export function tellings(wire: Recording): string[] {
  return wire
    .writes()
    .filter(isTelling)
    .map(({ method, path }) => `${method} ${path.split('/').slice(4).join('/')}`)
}

function isTelling({ path }: Recorded): boolean {
  return path.startsWith(registration) || path.startsWith(crdsPath)
}

/** Answers 403 to the matching requests. */
export function forbid(wire: Recording, isForbidden: (request: Recorded) => boolean): void {
  wire.meddle = async (request, send) => (isForbidden(request) ? refusal(403) : send())
}

/** A review of a widget, as the API server sends it. */
export function reviewOf(lab: Lab, fields: object = {}): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      resource: { group: lab.group, version: 'v1', resource: 'widgets' },
      operation: 'CREATE',
      namespace: lab.namespace,
      name: 'one',
      userInfo: { username: 'somebody' },
      object: { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: 'one', namespace: lab.namespace } },
      ...fields,
    },
  }
}

/** Registers further CRDs of a test, which are deleted after its file. */
export function useDefinitions(lab: Lab): (plural: string) => string {
  const names = new Set<string>()
  afterAll(async () => {
    for (const name of names) {
      await lab.call('PATCH', `${crdsPath}/${name}`, unconverted, mergePatch)
      await lab.call('DELETE', `${crdsPath}/${name}`)
    }
  })
  return (plural) => {
    names.add(`${plural}.${lab.group}`)
    return `${crdsPath}/${plural}.${lab.group}`
  }
}
