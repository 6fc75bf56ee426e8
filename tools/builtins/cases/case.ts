/** One question to the real server: what becomes of this manifest, and of a merge patch on what became of it. */
export interface Case {
  /** A sentence, the name of the test. */
  readonly name: string
  /** `apps/v1/deployments`, `v1/pods`. */
  readonly resource: string
  readonly body: Readonly<Record<string, unknown>>
  /** Cluster-scoped kinds are created outside of the namespace that the recording uses. */
  readonly clusterScoped?: boolean
  readonly patch?: Readonly<Record<string, unknown>>
  /** The patch goes to `/status`. */
  readonly status?: boolean
}

export const template = (labels: Readonly<Record<string, string>> = { app: 'web' }, spec: object = {}): object => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec },
})

export const selector = { matchLabels: { app: 'web' } }
