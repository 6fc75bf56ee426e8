/** Finds the pod of an operator that serves the dashboard: by the labels that `kopf manifests` writes. Used by `kopf dashboard` and `kopf top`. */
import { ApiError } from '../../client/api-error.ts'
import { collectionPath, type Located } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import { KopfError } from '../../errors.ts'
import { getObject, getObjects, getOwn, getString } from '../../util/json/json.ts'
import { listNames } from '../../util/text/did-you-mean.ts'
import { toCommandError } from '../cluster.ts'
import { adviseOnNamespace } from '../missing-names.ts'

const podsResource: Located = { group: '', version: 'v1', plural: 'pods', namespaced: true }
const leasesResource: Located = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true }

/** The labels of the pods of an operator, without its name. */
const operatorLabel = 'app.kubernetes.io/component=operator'
const nameLabel = 'app.kubernetes.io/name'
/** The name of the container port in the manifests. */
const portName = 'dashboard'

export interface PodPort {
  readonly scheme: 'http' | 'https'
  readonly port: number
}

/** Which pod the user means. */
export interface PodChoice {
  readonly namespace: string
  /** The name of the operator: its label `app.kubernetes.io/name`. */
  readonly name?: string | undefined
  /** A label selector, instead of the labels of `kopf manifests`. */
  readonly selector?: string | undefined
  /** The port of the dashboard, instead of the container port of that name. */
  readonly port?: PodPort | undefined
}

export interface OperatorPod extends PodPort {
  readonly namespace: string
  readonly name: string
  /** `unknown`: there are several pods, and no Lease names one of them. */
  readonly role: 'only' | 'leader' | 'unknown'
}

type PodFields = Parameters<typeof getString>[0]

/** Why no pod can be chosen: the end of a sentence, with what to do. */
export interface PodProblem {
  readonly problem: string
}

/** Chooses among the pods that match the labels: the leader, otherwise a ready one, otherwise the newest one. Pure. */
export function choosePod(
  pods: readonly PodFields[],
  holders: ReadonlySet<string>,
  choice: PodChoice,
): OperatorPod | PodProblem {
  if (pods.length === 0) return { problem: describeNone(choice) }
  const running = pods.filter((pod) => isRunning(pod))
  if (running.length === 0) {
    const phases = [...new Set(pods.map((pod) => getString(getObject(pod, 'status') ?? {}, 'phase') ?? 'Unknown'))]
    return {
      problem: `no pod of it is running: ${listNames(phases)}; look at it with "kubectl get pods -n ${choice.namespace}"`,
    }
  }
  const operators = [...new Set(running.map((pod) => labelOf(pod, nameLabel) ?? nameOf(pod)))].toSorted()
  if (choice.name === undefined && choice.selector === undefined && operators.length > 1) {
    return { problem: `there are several operators: ${listNames(operators)}; name one of them` }
  }
  const chosen = running.toSorted((a, b) => rank(b, holders) - rank(a, holders) || compareAge(b, a))[0]!
  const port = choice.port ?? dashboardPortOf(chosen)
  if (port === undefined) {
    return {
      problem: `its pod "${nameOf(chosen)}" has no port with the name "${portName}"; print its manifests with --with-dashboard, or name the port with --pod-port`,
    }
  }
  const role = holders.has(nameOf(chosen)) ? 'leader' : running.length === 1 ? 'only' : 'unknown'
  return { ...port, namespace: choice.namespace, name: nameOf(chosen), role }
}

function describeNone({ name, selector }: PodChoice): string {
  if (selector !== undefined)
    return `no pod has the labels ${selector}; name others with --selector, or its namespace with --namespace`
  const labels = name === undefined ? operatorLabel : `${nameLabel}=${name},${operatorLabel}`
  return `no pod has the labels ${labels}, which "kopf manifests" writes; name its namespace with --namespace, or its labels with --selector`
}

function isRunning(pod: PodFields): boolean {
  const isDeleted = getOwn(getObject(pod, 'metadata') ?? {}, 'deletionTimestamp') !== undefined
  return !isDeleted && getString(getObject(pod, 'status') ?? {}, 'phase') === 'Running'
}

function isReady(pod: PodFields): boolean {
  const conditions = getObjects(getObject(pod, 'status') ?? {}, 'conditions')
  return conditions.some((one) => getString(one, 'type') === 'Ready' && getString(one, 'status') === 'True')
}

function rank(pod: PodFields, holders: ReadonlySet<string>): number {
  return (holders.has(nameOf(pod)) ? 2 : 0) + Number(isReady(pod))
}

function compareAge(a: PodFields, b: PodFields): number {
  const [left, right] = [a, b].map((pod) => getString(getObject(pod, 'metadata') ?? {}, 'creationTimestamp') ?? '')
  return left! < right! ? -1 : Number(left! > right!)
}

function nameOf(pod: PodFields): string {
  return getString(getObject(pod, 'metadata') ?? {}, 'name') ?? ''
}

function labelOf(pod: PodFields, label: string): string | undefined {
  return getString(getObject(getObject(pod, 'metadata') ?? {}, 'labels') ?? {}, label)
}

function dashboardPortOf(pod: PodFields): PodPort | undefined {
  const containers = getObjects(getObject(pod, 'spec') ?? {}, 'containers')
  const ports = containers.flatMap((container) => getObjects(container, 'ports'))
  const port = getOwn(ports.find((one) => getString(one, 'name') === portName) ?? {}, 'containerPort')
  return typeof port === 'number' ? { scheme: 'https', port } : undefined
}

/** The most pods and Leases of a namespace that are read. */
const maxRead = 500

/** Reads the pods and the Leases of the namespace, and chooses. Rejects with a reason for the user if there is no such pod. */
export async function findOperatorPod(session: Session, choice: PodChoice, signal?: AbortSignal): Promise<OperatorPod> {
  const { namespace, name, selector } = choice
  const labelSelector = selector ?? `${operatorLabel}${name === undefined ? '' : `,${nameLabel}=${name}`}`
  const read = async (resource: Located, query: Readonly<Record<string, string>>): Promise<readonly PodFields[]> => {
    const path = collectionPath(resource, namespace)
    const page = await session.request({ method: 'GET', path, query: { ...query, limit: maxRead } }, signal)
    return getObjects(page, 'items')
  }
  const pods = await read(podsResource, { labelSelector }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 400) {
      throw new KopfError(
        'KOPF_DASHBOARD_UNREACHABLE',
        `Cannot find the operator: ${error.message}; correct --selector`,
      )
    }
    throw toCommandError(error, { verb: 'list', resource: podsResource, namespace, verbs: ['list'] })
  })
  const holders = pods.length < 2 ? [] : await read(leasesResource, {}).catch(() => [])
  const found = choosePod(
    pods,
    new Set(holders.flatMap((lease) => getString(getObject(lease, 'spec') ?? {}, 'holderIdentity') ?? [])),
    choice,
  )
  if (!('problem' in found)) return found
  const advice = pods.length > 0 ? undefined : await adviseOnNamespace(session, namespace).catch(() => undefined)
  const why = advice === undefined ? found.problem : `the namespace does not exist${advice}`
  const what = name === undefined ? 'the operator' : `the operator "${name}"`
  throw new KopfError('KOPF_DASHBOARD_UNREACHABLE', `Cannot find ${what} in the namespace "${namespace}": ${why}`)
}
