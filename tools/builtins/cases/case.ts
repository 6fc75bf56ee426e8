/** A manifest to create on the real server, and optionally a merge patch for the created object. */
export interface Case {
  /** The name of the test, as a sentence. */
  readonly name: string
  /** `apps/v1/deployments`, `v1/pods`. */
  readonly resource: string
  readonly body: Readonly<Record<string, unknown>>
  /** True for cluster-scoped kinds; all others are created in one namespace. */
  readonly clusterScoped?: boolean
  readonly patch?: Readonly<Record<string, unknown>>
  /** Whether the patch is sent to `/status`. */
  readonly status?: boolean
}

export const template = (labels: Readonly<Record<string, string>> = { app: 'web' }, spec: object = {}): object => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec },
})

export const selector = { matchLabels: { app: 'web' } }
