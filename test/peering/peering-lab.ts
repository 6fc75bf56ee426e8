/** Peerings in the lab: CRDs in one or both groups, the objects, and the records of other operators. */
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { crdsPath } from '../support/crds.ts'
import { useCleanLab } from '../support/handled.ts'
import type { Lab } from '../support/lab.ts'
import type { Recording } from '../support/recording.ts'

const mergePatch = 'application/merge-patch+json'

export interface PeeringRecord {
  readonly priority: number
  readonly lifetime: number
  readonly lastseen: string
}

export type Group = 'kopf.dev' | 'zalando.org'

export interface PeeringPlace {
  readonly group?: Group
  /** A ClusterKopfPeering instead of a KopfPeering. */
  readonly clusterwide?: boolean
  readonly name?: string
  readonly namespace?: string
}

export class PeeringLab {
  readonly lab: Lab
  /** Unique in the cluster. */
  readonly name: string

  constructor(lab: Lab) {
    this.lab = lab
    this.name = `peering-${lab.namespace.slice('lab-'.length)}`
  }

  async install(group: Group): Promise<void> {
    await this.lab.installAs({ group, kind: 'KopfPeering', scope: 'Namespaced' })
    await this.lab.installAs({ group, kind: 'ClusterKopfPeering', scope: 'Cluster' })
  }

  async uninstall(group: Group): Promise<void> {
    for (const plural of ['kopfpeerings', 'clusterkopfpeerings']) {
      const path = `${crdsPath}/${plural}.${group}`
      await this.lab.call('DELETE', path)
      await this.lab.until(async () => (await this.lab.call('GET', path)).status === 404)
    }
  }

  path({
    group = 'kopf.dev',
    clusterwide = false,
    name = this.name,
    namespace = this.lab.namespace,
  }: PeeringPlace = {}): string {
    const place = clusterwide ? 'clusterkopfpeerings' : `namespaces/${namespace}/kopfpeerings`
    return `/apis/${group}/v1/${place}/${name}`
  }

  async create(place: PeeringPlace = {}): Promise<void> {
    const { group = 'kopf.dev', clusterwide = false, name = this.name } = place
    const kind = clusterwide ? 'ClusterKopfPeering' : 'KopfPeering'
    const body = { apiVersion: `${group}/v1`, kind, metadata: { name } }
    const { status, text } = await this.lab.call('POST', this.path({ ...place, name: '' }).slice(0, -1), body)
    if (status !== 201) throw new Error(`Cannot create the peering: ${text}`)
  }

  async delete(place: PeeringPlace = {}): Promise<void> {
    await this.lab.call('DELETE', this.path(place))
  }

  async records(place: PeeringPlace = {}): Promise<Readonly<Record<string, PeeringRecord>>> {
    const { body } = await this.lab.call('GET', this.path(place))
    return (body['status'] ?? {}) as Readonly<Record<string, PeeringRecord>>
  }

  /** Writes the record of another operator; null removes it. */
  async sign(identity: string, record: Partial<PeeringRecord> | Tree | null, place: PeeringPlace = {}): Promise<void> {
    const now = new Date(this.lab.clock.now()).toISOString()
    const whole = record === null ? null : { priority: 0, lifetime: 60, lastseen: now, ...record }
    const { status, text } = await this.lab.call(
      'PATCH',
      this.path(place),
      { status: { [identity]: whole } },
      mergePatch,
    )
    if (status !== 200) throw new Error(`Cannot sign: ${text}`)
  }

  untilSigned(identity: string, place: PeeringPlace = {}): Promise<void> {
    return this.lab.until(async () => identity in (await this.records(place)))
  }

  untilUnsigned(identity: string, place: PeeringPlace = {}): Promise<void> {
    return this.lab.until(async () => !(identity in (await this.records(place))))
  }

  untilPaused(): Promise<void> {
    return this.lab.untilLogged('Pausing ')
  }

  untilResumed(): Promise<void> {
    return this.lab.untilLogged('Resuming operations after the pause.')
  }
}

/** A lab with the peering CRDs of these groups and without peerings of earlier tests. */
export function usePeeringLab(...groups: Group[]): PeeringLab {
  const lab = useCleanLab()
  const peering = new PeeringLab(lab)
  beforeAll(async () => {
    for (const group of groups) await peering.install(group)
  })
  afterEach(async () => {
    await lab.stopAll()
    for (const group of groups) {
      for (const clusterwide of [false, true]) {
        for (const name of [peering.name, 'default']) await peering.delete({ group, clusterwide, name })
      }
    }
  })
  afterAll(async () => {
    for (const group of groups) await peering.uninstall(group)
  })
  return peering
}

/** The requests for peerings of a group: each as `GET watch`, `GET` or `PATCH`. */
export function peeringRequests({ requests }: Recording, group: Group = 'kopf.dev'): string[] {
  return requests
    .filter(({ path }) => path.startsWith(`/apis/${group}/`) && /kopfpeerings(\/|$)/.test(path))
    .map(({ method, query }) => `${method}${query.get('watch') === 'true' ? ' watch' : ''}`)
}
