/** Operators of Python's Kopf and of this package in one peering, on a control plane with an audit log. Used by mixed-peering.test.ts. */
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { AuditLog } from '../../../tools/kopf/audit-log.ts'
import { kopfCommand, oursCommand } from '../../../tools/kopf/commands.ts'
import { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { createTokenUser, type TokenUser } from '../../../tools/kopf/service-account.ts'
import type { Tree } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { crd, crdsPath, installCrd } from '../../support/crds.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'
import { type Language, Objects, startOperator } from './paired-operators.ts'

const group = 'peers.example.com'
const apiVersion = `${group}/v1`

export class PeeringPlane implements AsyncDisposable {
  readonly api: Api
  readonly users: Readonly<Record<Language, TokenUser>>
  readonly #plane: ControlPlane

  constructor(plane: ControlPlane, users: Readonly<Record<Language, TokenUser>>) {
    this.#plane = plane
    this.users = users
    this.api = new Api({ url: plane.url, caPem: plane.caPem, credentials: plane.admin })
  }

  static async start(): Promise<PeeringPlane> {
    const plane = await startControlPlane({ audit: true, controllers: false })
    const admin = { url: plane.url, caPem: plane.caPem, user: plane.admin }
    const folder = dirname(plane.kubeconfigs.admin)
    const [python, ours] = [
      await createTokenUser(admin, 'python', folder),
      await createTokenUser(admin, 'ours', folder),
    ]
    const started = new PeeringPlane(plane, { python, ours })
    await installCrd(started.api, crd({ group, kind: 'Widget', subresources: { status: {} } }))
    return started
  }

  async install(peeringGroup: string): Promise<void> {
    await installCrd(this.api, crd({ group: peeringGroup, kind: 'KopfPeering' }))
    await installCrd(this.api, crd({ group: peeringGroup, kind: 'ClusterKopfPeering', scope: 'Cluster' }))
  }

  async uninstall(peeringGroup: string): Promise<void> {
    for (const plural of ['kopfpeerings', 'clusterkopfpeerings']) {
      const path = `${crdsPath}/${plural}.${peeringGroup}`
      await this.api.delete(path)
      await eventually(async () => expectStatus(await this.api.get(path), 404))
    }
  }

  auditLog(): AuditLog {
    const log = new AuditLog(this.#plane.auditLog!)
    log.read()
    return log
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.close()
    await this.#plane.stop()
  }
}

/** One peering, either in a namespace for this test or clusterwide. */
export class SharedPeering implements AsyncDisposable {
  readonly namespace: string
  readonly name: string
  readonly widgets: Objects
  readonly path: string
  readonly #plane: PeeringPlane
  readonly #isClusterwide: boolean
  readonly #running: OperatorProcess[] = []

  private constructor(plane: PeeringPlane, options: { group: string; clusterwide: boolean }) {
    const id = randomBytes(4).toString('hex')
    this.#plane = plane
    this.#isClusterwide = options.clusterwide
    this.namespace = `world-${id}`
    this.name = `peering-${id}`
    this.widgets = new Objects(plane.api, `/apis/${apiVersion}/namespaces/${this.namespace}/widgets`, {
      apiVersion,
      kind: 'Widget',
    })
    const place = options.clusterwide ? 'clusterkopfpeerings' : `namespaces/${this.namespace}/kopfpeerings`
    this.path = `/apis/${options.group}/v1/${place}/${this.name}`
  }

  static async create(plane: PeeringPlane, options: { group: string; clusterwide: boolean }): Promise<SharedPeering> {
    const world = new SharedPeering(plane, options)
    expectStatus(await plane.api.post('/api/v1/namespaces', { metadata: { name: world.namespace } }), 201)
    const kind = options.clusterwide ? 'ClusterKopfPeering' : 'KopfPeering'
    const body = { apiVersion: `${options.group}/v1`, kind, metadata: { name: world.name } }
    expectStatus(await plane.api.post(world.path.slice(0, world.path.lastIndexOf('/')), body), 201)
    return world
  }

  async start(language: Language, priority: number, lifetime = 60): Promise<OperatorProcess> {
    const operator = await startOperator(language, {
      name: 'peering',
      namespace: this.#isClusterwide ? undefined : this.namespace,
      kubeconfig: this.#plane.users[language].kubeconfig,
      env: { GROUP: group, LIFETIME: String(lifetime) },
      hasPeers: true,
      options: ['--peering', this.name, '--priority', String(priority)],
    })
    this.#running.push(operator)
    return operator
  }

  /** Runs `freeze` or `resume` to its end. */
  async command(language: Language, command: string, ...options: string[]): Promise<OperatorProcess> {
    const scope = this.#isClusterwide ? ['--all-namespaces'] : ['--namespace', this.namespace]
    const args = [command, '--peering', this.name, ...scope, ...options]
    const { kubeconfig } = this.#plane.users[language]
    const one = new OperatorProcess(
      language === 'python' ? await kopfCommand(args, { kubeconfig }) : oursCommand(args, { kubeconfig }),
    )
    await eventually(async () => {
      if (one.ended === undefined) throw new Error(`It has not ended:\n${one.output}`)
    }, 20_000)
    return one
  }

  async records(): Promise<Tree> {
    return ((expectStatus(await this.#plane.api.get(this.path), 200) as Tree)['status'] ?? {}) as Tree
  }

  /** The lists and watches of widgets that a user starts within this time. */
  async looksOf(language: Language, ms: number): Promise<string[]> {
    const log = this.#plane.auditLog()
    await sleep(ms)
    const looks = log.read().filter(({ user, resource, verb, stage }) => {
      const isLook = verb === 'list' || (verb === 'watch' && stage === 'ResponseStarted')
      return isLook && resource === 'widgets' && user === this.#plane.users[language].username
    })
    return looks.map(({ verb, uri }) => `${verb} ${uri}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map((operator) => operator.stop()))
    await this.#plane.api.delete(this.path)
  }
}
