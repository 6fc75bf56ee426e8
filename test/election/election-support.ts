/** Replicas of one operator under test, and the Lease they share. */
import { Operator, type RunningOperator, type RunOptions } from 'kopf'
import type { Body, Lab } from '../support/lab.ts'
import type { Recording } from '../support/recording.ts'

const leaseName = 'widgets-operator'

/** Short times on a real cluster, the defaults elsewhere. */
export function electionIn(lab: Lab): { leaseDuration: number; renewDeadline: number; retryPeriod: number } {
  return lab.isReal
    ? { leaseDuration: 3, renewDeadline: 2, retryPeriod: 0.4 }
    : { leaseDuration: 15, renewDeadline: 10, retryPeriod: 2 }
}

export function replica(lab: Lab, setUp: (kopf: Operator) => void): Operator {
  const election = { enabled: true, namespace: lab.namespace, ...electionIn(lab) }
  const kopf = new Operator({ name: leaseName, settings: { election } })
  setUp(kopf)
  return kopf
}

export function leasePath(lab: Lab, name: string = leaseName): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${lab.namespace}/leases/${name}`
}

export interface LeaseSpec {
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly leaseTransitions: number
}

export async function leaseIn(lab: Lab): Promise<Body & { spec: LeaseSpec }> {
  return (await lab.call('GET', leasePath(lab))).body as never
}

export async function holderIn(lab: Lab): Promise<string | undefined> {
  return (await leaseIn(lab)).spec?.holderIdentity
}

export async function untilHeldBy(lab: Lab, identity: string): Promise<void> {
  await lab.until(async () => (await holderIn(lab)) === identity)
}

/** Starts replicas and records the calls of their handlers. */
export class Replicas {
  readonly calls: string[] = []
  readonly wires: Record<string, Recording> = {}
  readonly running: Record<string, RunningOperator> = {}
  readonly #lab: Lab

  constructor(lab: Lab) {
    this.#lab = lab
  }

  async start(
    identity: string,
    setUp: (kopf: Operator) => void = (kopf) => this.noteCreations(kopf, identity),
    options: RunOptions = {},
  ): Promise<RunningOperator> {
    const wire = this.#lab.record()
    this.wires[identity] = wire
    const kopf = replica(this.#lab, setUp)
    const running = await this.#lab.start(kopf, { identity, transport: wire, ...options })
    this.running[identity] = running
    return running
  }

  noteCreations(kopf: Operator, identity: string): void {
    kopf.on.create(this.#lab.widgets, { id: 'c' }, ({ name }) => void this.calls.push(`${identity} creates ${name}`))
  }

  leaseRequests(identity: string): string[] {
    return this.wires[identity]!.requests.filter(({ path }) => path.includes('/leases')).map(({ method, query }) =>
      query.get('watch') === 'true' ? 'WATCH' : method,
    )
  }

  /** The writes of a replica to objects other than the Lease. */
  writes(identity: string): string[] {
    return this.wires[identity]!.writes()
      .filter(({ path }) => !path.includes('/leases'))
      .map(({ method, path }) => `${method} ${path}`)
  }
}

/** A record of the end of the operator, updated when it ends. */
export function endOf(running: RunningOperator): { error: unknown; isOver: boolean } {
  const end = { error: undefined as unknown, isOver: false }
  running.done.then(
    () => Object.assign(end, { isOver: true }),
    (error: unknown) => Object.assign(end, { isOver: true, error }),
  )
  return end
}
