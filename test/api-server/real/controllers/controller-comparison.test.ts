/**
 * The embedded controllers and kube-controller-manager with the same manifests: objects, counters, conditions, annotations and the
 * output of kubectl must be the same in the end. The real control plane has no kubelet: pod-simulator.ts writes the status of pods.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiTarget, callApi } from '../../../../tools/envtest/api.ts'
import { type ControlPlane, startControlPlane } from '../../../../tools/envtest/control-plane.ts'
import { eventually } from '../../../support/expectations.ts'
import { Kubectl, normalise } from '../kubectl/run-kubectl.ts'
import {
  claim,
  cronJob,
  daemonSet,
  deployment,
  jobs,
  recreated,
  replicaSet,
  service,
  statefulSet,
  stuck,
} from './compared-manifests.ts'
import { type Loose, mask, maskObjects } from './mask-objects.ts'
import { PodSimulator } from './pod-simulator.ts'

const folder = mkdtempSync(join(tmpdir(), 'life-'))
const servers = ['real', 'embedded'] as const
type Server = (typeof servers)[number]

let plane: ControlPlane
let podSimulator: PodSimulator
let embedded: RunningServer

beforeAll(async () => {
  plane = await startControlPlane({
    controllers: [
      'cronjob-controller',
      'daemonset-controller',
      'deployment-controller',
      'endpoints-controller',
      'endpointslice-controller',
      'job-controller',
      'persistentvolume-binder-controller',
      'replicaset-controller',
      'root-ca-certificate-publisher-controller',
      'statefulset-controller',
    ],
  })
  embedded = await startServer({ controllers: 'all' })
  podSimulator = await PodSimulator.start(targetOf('real'))
  writeFileSync(join(folder, 'embedded.kubeconfig'), embedded.kubeconfig)
})

afterAll(async () => {
  await podSimulator?.[Symbol.asyncDispose]()
  await embedded?.stop()
  await plane?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function targetOf(server: Server): ApiTarget {
  if (server === 'real') return { url: plane.url, caPem: plane.caPem, user: plane.admin }
  return { url: embedded.url, caPem: embedded.ca! }
}

function kubectlOn(server: Server, namespace: string): Kubectl {
  const kubeconfig = server === 'real' ? plane.kubeconfigs.admin : join(folder, 'embedded.kubeconfig')
  return new Kubectl({ program: plane.binaries.kubectl, kubeconfig, namespace, folder })
}

/** A namespace on one of the servers. */
class Stage {
  readonly #namespace: string
  readonly #server: Server

  constructor(server: Server, namespace: string) {
    this.#server = server
    this.#namespace = namespace
  }

  async run(command: string): Promise<string> {
    const { stdout, stderr } = normalise(await kubectlOn(this.#server, this.#namespace).run(command))
    return mask(`${stdout}${stderr}`.replaceAll(/^Warning: v1 Endpoints.*\n/gm, ''))
  }

  async create(manifest: string): Promise<void> {
    const file = join(folder, `${this.#namespace}-${this.#server}.yaml`)
    writeFileSync(file, manifest.replaceAll('NAMESPACE', this.#namespace))
    const { code, stderr } = await kubectlOn(this.#server, this.#namespace).run(`create -f ${file}`)
    if (code !== 0) throw new Error(stderr)
  }

  /** All objects of these kinds, masked. */
  async list(kinds: string): Promise<object[]> {
    const { stdout } = await kubectlOn(this.#server, this.#namespace).run(`get ${kinds} -o json`)
    return maskObjects(JSON.parse(stdout).items)
  }

  /** The events of a kind, sorted and without repetitions, which depend on timing. */
  async events(kind: string): Promise<string[]> {
    const columns = 'T:.type,R:.reason,C:.source.component,M:.message'
    const text = await this.run(
      `get events --field-selector=involvedObject.kind=${kind} --no-headers -o custom-columns=${columns}`,
    )
    return [...new Set(text.replaceAll('(combined from similar events): ', '').split('\n'))].sort()
  }
}

let stages = 0

/** Runs `play` on both servers, and expects the same result. */
async function compare(play: (stage: Stage) => Promise<unknown>): Promise<void> {
  stages += 1
  const namespace = `stage-${stages}`
  const [real, ours] = await Promise.all(
    servers.map(async (server) => {
      const { code, stderr } = await kubectlOn(server, 'default').run(`create namespace ${namespace}`)
      if (code !== 0) throw new Error(stderr)
      return play(new Stage(server, namespace))
    }),
  )
  expect(ours).toEqual(real)
}

const image = (name: string, kind: string) =>
  `patch ${kind} ${name} --type=json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]'`

/** The last line of `kubectl rollout status`: the lines before depend on timing. */
const last = (text: string) => text.trim().split('\n').at(-1)

async function settle(stage: Stage, kinds: string, isSo: (objects: Loose[]) => boolean): Promise<object[]> {
  let objects: object[] = []
  await eventually(async () => {
    objects = await stage.list(kinds)
    expect(isSo(objects)).toBe(true)
  }, 20_000)
  return objects
}

describe('embedded and real controllers', () => {
  test('both controllers roll out, roll back and scale a Deployment alike', async () => {
    await compare(async (stage) => {
      await stage.create(deployment)
      const first = last(await stage.run('rollout status deployment/web --timeout=20s'))
      await stage.run(image('web', 'deployment'))
      const second = last(await stage.run('rollout status deployment/web --timeout=20s'))
      const history = await stage.run('rollout history deployment/web')
      await stage.run('rollout undo deployment/web')
      const third = last(await stage.run('rollout status deployment/web --timeout=20s'))
      const later = await stage.run('rollout history deployment/web')
      await stage.run('scale deployment/web --replicas=5')
      await stage.run('rollout status deployment/web --timeout=20s')
      const objects = await settle(
        stage,
        'deployments,replicasets,pods',
        (all) => all.filter(({ kind }) => kind === 'Pod').length === 5,
      )
      const described = (await stage.run('describe deployment web')).split('Events:')[0]
      const shown = await stage.run('get deployments,replicasets')
      return {
        first,
        second,
        history,
        third,
        later,
        objects,
        described,
        shown,
        events: await stage.events('Deployment'),
      }
    })
  }, 120_000)

  test('both controllers roll out a Deployment with the strategy Recreate alike', async () => {
    await compare(async (stage) => {
      await stage.create(recreated)
      await stage.run('rollout status deployment/once --timeout=20s')
      await stage.run(image('once', 'deployment'))
      await stage.run('rollout status deployment/once --timeout=20s')
      return settle(
        stage,
        'deployments,replicasets,pods',
        (all) => all.filter(({ kind }) => kind === 'Pod').length === 2,
      )
    })
  }, 60_000)

  test('both controllers report a Deployment without progress alike', async () => {
    await compare(async (stage) => {
      await stage.create(stuck)
      const objects = await settle(stage, 'deployments,replicasets,pods', (all) =>
        JSON.stringify(all).includes('ProgressDeadlineExceeded'),
      )
      return [objects, await stage.run('rollout status deployment/stuck --timeout=5s')]
    })
  }, 60_000)

  test('both controllers treat a paused Deployment alike', async () => {
    await compare(async (stage) => {
      await stage.create(deployment)
      await stage.run('rollout status deployment/web --timeout=20s')
      await stage.run(`patch deployment web --type=merge -p '{"spec":{"paused":true}}'`)
      await stage.run(image('web', 'deployment'))
      await stage.run('scale deployment/web --replicas=1')
      const paused = await settle(stage, 'deployments,replicasets,pods', (all) => {
        const found = all.find(({ kind }) => kind === 'Deployment')!
        return (
          found.status.observedGeneration === found.metadata.generation &&
          found.status.replicas === 1 &&
          found.status.terminatingReplicas === 0
        )
      })
      await stage.run(`patch deployment web --type=merge -p '{"spec":{"paused":false}}'`)
      await stage.run('rollout status deployment/web --timeout=20s')
      return [
        paused,
        await settle(
          stage,
          'deployments,replicasets,pods',
          (all) => all.filter(({ kind }) => kind === 'Pod').length === 1,
        ),
      ]
    })
  }, 60_000)

  test('both controllers adopt a matching pod into a ReplicaSet and delete surplus pods alike', async () => {
    await compare(async (stage) => {
      await stage.create(replicaSet)
      const two = await settle(stage, 'replicasets,pods', (all) =>
        all.some(({ status }) => status.availableReplicas === 2),
      )
      await stage.run('scale replicaset/web --replicas=0')
      const none = await settle(
        stage,
        'replicasets,pods',
        (all) => all.length === 1 && all[0]!['status'].replicas === 0 && all[0]!['status'].terminatingReplicas === 0,
      )
      return [two, none]
    })
  }, 60_000)

  test('both controllers complete, fail, time out and suspend Jobs alike', async () => {
    await compare(async (stage) => {
      await stage.create(jobs)
      const objects = await settle(stage, 'jobs,pods', (all) => {
        const ended = all.filter(({ status }) =>
          status.conditions?.some(({ type }: Loose) => ['Complete', 'Failed', 'Suspended'].includes(type)),
        )
        return ended.length === 5 && all.length === 5 + 6
      })
      return { objects, shown: await stage.run('get jobs'), events: await stage.events('Job') }
    })
  }, 60_000)

  test('both controllers run a CronJob alike', async () => {
    await compare(async (stage) => {
      await stage.create(cronJob)
      await settle(stage, 'jobs', (all) => all.some(({ status }) => status.completionTime !== undefined))
      await stage.run(`patch cronjob tick --type=merge -p '{"spec":{"suspend":true}}'`)
      const objects = await settle(
        stage,
        'cronjobs',
        ([one]) => one!['status'].lastSuccessfulTime !== undefined && !one!['status'].active,
      )
      const [made] = await stage.list('jobs')
      return [objects, made]
    })
  }, 60_000)

  test('both controllers create, update and scale down a StatefulSet alike', async () => {
    await compare(async (stage) => {
      await stage.create(statefulSet)
      const first = last(await stage.run('rollout status statefulset/db --timeout=20s'))
      const made = await settle(stage, 'statefulsets,pods,controllerrevisions', (all) =>
        all.some(({ status }) => status?.availableReplicas === 2),
      )
      await stage.run(image('db', 'statefulset'))
      const second = last(await stage.run('rollout status statefulset/db --timeout=20s'))
      const history = await stage.run('rollout history statefulset/db')
      await stage.run('scale statefulset/db --replicas=1')
      const shrunk = await settle(
        stage,
        'statefulsets,pods',
        (all) => all.length === 2 && all.some(({ status }) => status.replicas === 1 && status.currentReplicas === 1),
      )
      return { first, made, second, history, shrunk, events: await stage.events('StatefulSet') }
    })
  }, 60_000)

  test('both controllers create and update a DaemonSet alike', async () => {
    await compare(async (stage) => {
      await stage.create(daemonSet)
      await stage.run('rollout status daemonset/agent --timeout=20s')
      const made = await settle(stage, 'daemonsets,pods,controllerrevisions', (all) =>
        all.some(({ status }) => status?.numberAvailable === 1),
      )
      await stage.run(image('agent', 'daemonset'))
      await stage.run('rollout status daemonset/agent --timeout=20s')
      const updated = await settle(
        stage,
        'daemonsets,pods',
        (all) =>
          all.length === 2 &&
          all.some(({ status }) => status.updatedNumberScheduled === 1 && status.numberAvailable === 1),
      )
      return [made, updated, await stage.run('rollout history daemonset/agent')]
    })
  }, 60_000)

  test('both controllers write EndpointSlices and Endpoints alike', async () => {
    await compare(async (stage) => {
      await stage.create(service)
      await stage.run('rollout status deployment/web --timeout=20s')
      await stage.run('rollout status statefulset/db --timeout=20s')
      const ready = (all: Loose[]) => JSON.stringify(all).split('"ready":true').length - 1
      const slices = await settle(stage, 'endpointslices', (all) => ready(all) === 5)
      return [slices.map(withoutOrder), (await stage.list('endpoints')).map(withoutOrder)]
    })
  }, 60_000)

  test('both controllers set up a namespace and bind a claim to an existing volume alike', async () => {
    await compare(async (stage) => {
      await stage.create(claim)
      const claims = await settle(stage, 'persistentvolumeclaims', ([one]) => one!['status'].phase === 'Bound')
      const volumes = (await stage.list('persistentvolumes')).filter((one) => JSON.stringify(one).includes('/data'))
      const accounts = await stage.list('serviceaccounts')
      const [configMap] = (await stage.list('configmaps')) as Array<{ metadata: object; data: object }>
      return { claims, volumes, accounts, metadata: configMap!.metadata, keys: Object.keys(configMap!.data) }
    })
  }, 60_000)

  test('the embedded server refuses logs, exec, attach, port-forward and cp with an explanation', async () => {
    const kubectl = kubectlOn('embedded', 'default')
    await kubectl.run('run solo --image=nginx')
    for (const command of [
      'logs solo',
      'exec solo -- ls',
      'attach solo',
      'port-forward solo 0:80',
      'cp solo:/etc/hosts hosts',
    ]) {
      const { code, stderr } = await kubectl.run(command)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /pods\/\w+ is not served: the embedded server keeps pods and runs no containers, so .*; use a cluster/,
      )
    }
    expect((await kubectl.run('logs nobody')).stderr).toContain('pods "nobody" not found')
    await callApi(targetOf('embedded'), { path: '/healthz' })
  }, 60_000)
})

/** Sorts addresses, whose order is undefined. */
function withoutOrder(object: Loose): object {
  const sorted = (list: object[] | undefined) => list && [...list].map((one) => JSON.stringify(one)).sort()
  return {
    ...object,
    ...(object.endpoints && { endpoints: sorted(object.endpoints) }),
    ...(object.subsets && {
      subsets: object.subsets.map((one: Loose) => ({ ...one, addresses: sorted(one.addresses) })),
    }),
  }
}
