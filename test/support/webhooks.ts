/**
 * Webhooks for a test file on either server: a webhook server, and webhook configurations. `install` waits until a configuration is
 * in effect, which on real servers takes a moment.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import type { Tree } from './answers.ts'
import type { Cluster } from './cluster.ts'
import { eventually, expectStatus } from './expectations.ts'
import { type Review, reviewed, WebhookServer } from './webhook-server.ts'

export type WebhookKind = 'Validating' | 'Mutating'

const root = '/apis/admissionregistration.k8s.io/v1'

export class Webhooks {
  server!: WebhookServer
  readonly #cluster: Cluster
  readonly #installed: string[] = []

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** A webhook for the namespace of this file, by default for config maps only. */
  hook(name: string, path: string, more: Tree = {}): Tree {
    return {
      name: `${name}.example.com`,
      clientConfig: this.server.at(path),
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': this.#cluster.namespace } },
      ...more,
    }
  }

  /** Resolves when the configuration is in effect. API servers call configurations in the order of their names. */
  async install(kind: WebhookKind, name: string, ...hooks: readonly Tree[]): Promise<void> {
    const plural = `${kind.toLowerCase()}webhookconfigurations`
    const id = randomBytes(4).toString('hex')
    const full = `${name}-${this.#cluster.namespace}`
    const probe = this.hook('probe', `/probe-${id}`, { objectSelector: { matchLabels: { probe: id } } })
    this.server.on(`/probe-${id}`, ({ review }) => reviewed(review, { allowed: false }))
    const configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${kind}WebhookConfiguration`,
      metadata: { name: full },
      webhooks: [...hooks, probe],
    }
    expectStatus(await this.#cluster.api.post(`${root}/${plural}`, configuration), 201)
    this.#installed.push(`${root}/${plural}/${full}`)
    await this.#until(id, 400)
  }

  /** Deletes all configurations, and waits until the API server no longer calls them. */
  async clear(): Promise<void> {
    for (const path of this.#installed.splice(0)) {
      const { body } = await this.#cluster.api.get(path)
      const hooks = body['webhooks'] as Array<{ objectSelector: { matchLabels: { probe: string } } }>
      expectStatus(await this.#cluster.api.delete(path), 200)
      await this.#until(hooks.at(-1)!.objectSelector.matchLabels.probe, 201)
    }
  }

  async start(): Promise<void> {
    this.server = await WebhookServer.start(['127.0.0.1', 'localhost', `hook.${this.#cluster.namespace}.svc`])
  }

  async stop(): Promise<void> {
    await this.clear()
    await this.server.stop()
  }

  #until(probe: string, status: number): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe', labels: { probe } } }
    const path = this.#cluster.core('configmaps')
    return eventually(async () => {
      expectStatus(await this.#cluster.api.post(path, body, { query: { dryRun: 'All' } }), status)
    })
  }
}

export function useWebhooks(cluster: Cluster): Webhooks {
  const webhooks = new Webhooks(cluster)
  beforeAll(() => webhooks.start())
  afterAll(() => webhooks.stop())
  return webhooks
}

/** Allows every review. */
export function allow({ review }: { readonly review: Review }): ReturnType<typeof reviewed> {
  return reviewed(review)
}
