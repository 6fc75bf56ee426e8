/** Rules for Namespace, Node, ServiceAccount, Endpoints, ResourceQuota and LimitRange. */
import type { KubeObject } from '../../../kube/objects.ts'
import { duplicate, type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { labelNameProblems, labelValueProblems, qualifiedNameProblems, subdomainNameProblems } from '../../names.ts'
import { checkImmutable, checkLabel, checkOneOf, inFieldOrder, portProblems, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkEndpointIp, checkIp } from '../validation/addresses.ts'
import { checkAmount } from '../validation/amounts.ts'
import { protocols } from '../validation/containers.ts'
import { taintEffects } from '../validation/pod-spec.ts'
import type { Amounts } from '../validation/shapes.ts'
import { type ObjectFields, part } from '../values.ts'

const finalizersOf = (namespace: KubeObject): readonly string[] =>
  part<{ finalizers: readonly string[] }>(namespace, 'spec').finalizers ?? []

/** The label always equals the name and overwrites the client's value. */
function labelNamespace(namespace: KubeObject): void {
  const { name = '' } = namespace.metadata
  namespace.metadata.labels = { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': name }
}

const ownFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion']

function checkFinalizers(namespace: KubeObject): FieldError[] {
  return finalizersOf(namespace).flatMap((finalizer) => {
    const errors = problemsAt('spec.finalizers', finalizer, qualifiedNameProblems(finalizer))
    if (finalizer.includes('/') || ownFinalizers.includes(finalizer)) return errors
    return [
      ...errors,
      invalid('spec.finalizers', finalizer, 'name is neither a standard finalizer name nor is it fully qualified'),
    ]
  })
}

const phaseOf = (namespace: KubeObject): string => part<{ phase: string }>(namespace, 'status').phase ?? ''

export const namespaceRules: KindRules = {
  nameProblems: labelNameProblems,
  hasStatus: true,
  prepareForCreate(namespace) {
    const given = finalizersOf(namespace)
    namespace['spec'] = { finalizers: given.includes('kubernetes') ? given : [...given, 'kubernetes'] }
    namespace['status'] = { phase: 'Active' }
    labelNamespace(namespace)
  },
  prepareForUpdate(namespace, old) {
    namespace['spec'] = { ...part<ObjectFields>(namespace, 'spec'), finalizers: finalizersOf(old) }
    labelNamespace(namespace)
  },
  prepareForStatusUpdate: labelNamespace,
  prepareForFinalize(namespace, old) {
    namespace['spec'] = { finalizers: finalizersOf(namespace) }
    namespace['status'] = old['status']
  },
  validate: checkFinalizers,
  validateStatus(namespace) {
    const [phase, when] =
      namespace.metadata.deletionTimestamp === undefined ? ['Active', 'empty'] : ['Terminating', 'not empty']
    if (phaseOf(namespace) === phase) return []
    return [invalid('status.Phase', phaseOf(namespace), `may only be '${phase}' if \`deletionTimestamp\` is ${when}`)]
  },
  selectable: { 'status.phase': phaseOf },
  extra: {
    returnsDeletedObject: true,
    markDeleting(namespace) {
      namespace['status'] = { ...part<ObjectFields>(namespace, 'status'), phase: 'Terminating' }
    },
    isHeld: (namespace) => finalizersOf(namespace).length > 0,
  },
}

interface NodeSpec {
  readonly taints: ReadonlyArray<{ readonly key: string; readonly value?: string; readonly effect: string }>
  readonly podCIDRs: readonly string[]
  readonly providerID: string
  readonly unschedulable: boolean
}

interface NodeStatus {
  readonly capacity: Amounts
  readonly allocatable: Amounts
  readonly addresses: ReadonlyArray<{ readonly type: string; readonly address: string }>
}

/** The real server reports taints under `metadata.taints`. */
function checkTaints({ taints = [] }: Partial<NodeSpec>): FieldError[] {
  const seen = new Set<string>()
  return taints.flatMap(({ key, value = '', effect }, index) => {
    const at = `metadata.taints[${index}]`
    const errors = problemsAt(`${at}.key`, key, qualifiedNameProblems(key))
    const problems = labelValueProblems(value)
    if (problems.length > 0) errors.push(invalid(`${at}.value`, value, problems.join(';')))
    errors.push(...(effect === '' ? [required(`${at}.effect`)] : checkOneOf(`${at}.effect`, effect, taintEffects)))
    if (seen.has(`${effect}/${key}`)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: null }
      const repeated = inFieldOrder(duplicate(at, shown), shown)
      errors.push({ ...repeated, body: `${repeated.body}: taints must be unique by key and effect pair` })
    }
    seen.add(`${effect}/${key}`)
    return errors
  })
}

function checkNodeAmounts(node: KubeObject): FieldError[] {
  const { capacity = {}, allocatable = {} } = part<NodeStatus>(node, 'status')
  const check = (field: string, amounts: Amounts): FieldError[] =>
    Object.entries(amounts).flatMap(([name, amount]) => checkAmount(`status.${field}.${name}`, name, amount))
  return [...check('capacity', capacity), ...check('allocatable', allocatable)]
}

function checkNodeChange(node: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [part<NodeSpec>(node, 'spec'), part<NodeSpec>(old, 'spec')]
  const addresses = part<NodeStatus>(node, 'status').addresses ?? []
  const errors = [...checkNodeAmounts(node)]
  const known = new Set<string>()
  for (const [index, { type, address }] of addresses.entries()) {
    const shown = { Type: type, Address: address }
    const key = JSON.stringify(shown)
    if (known.has(key)) errors.push(inFieldOrder(duplicate(`status.addresses[${index}]`, shown), shown))
    known.add(key)
  }
  const [ranges, oldRanges] = [spec.podCIDRs ?? [], oldSpec.podCIDRs ?? []]
  if (oldRanges.length > 0 && oldRanges.join() !== ranges.join()) {
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'))
  }
  if (oldSpec.providerID && oldSpec.providerID !== spec.providerID) {
    errors.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'))
  }
  return [...errors, ...checkTaints(spec)]
}

const checkNode = (node: KubeObject): FieldError[] => [
  ...checkTaints(part<NodeSpec>(node, 'spec')),
  ...checkNodeAmounts(node),
]

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }

/**
 * Implements the TaintNodesByCondition admission plugin: a new node is tainted as not ready, so that no pods are scheduled on
 * it.
 */
function taintNewNode(node: KubeObject): void {
  const { taints = [] } = part<NodeSpec>(node, 'spec')
  const isTainted = taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)
  if (!isTainted) node['spec'] = { ...part<ObjectFields>(node, 'spec'), taints: [...taints, notReady] }
}

/** A create keeps the status, since a kubelet registers its node with a status. */
export const nodeRules: KindRules = {
  prepareForCreate: taintNewNode,
  prepareForUpdate(node, old) {
    node['status'] = old['status']
  },
  validate: checkNode,
  validateUpdate: (node, old) => [...checkNode(node), ...checkNodeChange(node, old)],
  validateStatus: checkNodeChange,
  selectable: { 'spec.unschedulable': (node) => String(part<NodeSpec>(node, 'spec').unschedulable === true) },
}

/** Stores only the names of secret references. */
function cleanSecrets(account: KubeObject): void {
  const secrets = account['secrets'] as ReadonlyArray<{ readonly name?: string }> | undefined
  if (secrets) account['secrets'] = secrets.map(({ name = '' }) => ({ name }))
}

export const serviceAccountRules: KindRules = {
  prepareForCreate: cleanSecrets,
  prepareForUpdate: cleanSecrets,
  extra: { returnsDeletedObject: true },
}

interface EndpointAddress {
  readonly ip: string
  readonly hostname?: string
  readonly nodeName?: string
}

interface Subset {
  readonly addresses?: readonly EndpointAddress[]
  readonly notReadyAddresses?: readonly EndpointAddress[]
  readonly ports?: ReadonlyArray<{ readonly name?: string; readonly port: number; readonly protocol?: string }>
}

function checkAddress(path: string, { ip, hostname, nodeName }: EndpointAddress): FieldError[] {
  return [
    ...checkIp(`${path}.ip`, ip),
    ...(hostname ? checkLabel(`${path}.hostname`, hostname) : []),
    ...(nodeName === undefined ? [] : problemsAt(`${path}.nodeName`, nodeName, subdomainNameProblems(nodeName, false))),
    ...checkEndpointIp(`${path}.ip`, ip),
  ]
}

function checkSubset(path: string, { addresses = [], notReadyAddresses = [], ports = [] }: Subset): FieldError[] {
  const isEmpty = addresses.length + notReadyAddresses.length === 0
  return [
    ...(isEmpty ? [required(path, 'must specify `addresses` or `notReadyAddresses`')] : []),
    ...addresses.flatMap((address, index) => checkAddress(`${path}.addresses[${index}]`, address)),
    ...notReadyAddresses.flatMap((address, index) => checkAddress(`${path}.notReadyAddresses[${index}]`, address)),
    ...ports.flatMap(({ name, port, protocol }, index) => {
      const at = `${path}.ports[${index}]`
      const naming = name ? checkLabel(`${at}.name`, name) : ports.length > 1 ? [required(`${at}.name`)] : []
      return [
        ...naming,
        ...problemsAt(`${at}.port`, port, portProblems(port)),
        ...checkOneOf(`${at}.protocol`, protocol, protocols),
      ]
    }),
  ]
}

export const endpointsRules: KindRules = {
  validate: (endpoints) =>
    ((endpoints['subsets'] ?? []) as readonly Subset[]).flatMap((subset, index) =>
      checkSubset(`subsets[${index}]`, subset),
    ),
  extra: { allowsCreateOnUpdate: true },
}

export const limitRangeRules: KindRules = { extra: { allowsCreateOnUpdate: true } }

export const resourceQuotaRules: KindRules = {
  hasStatus: true,
  validate: (quota) =>
    Object.entries(part<{ hard: Amounts }>(quota, 'spec').hard ?? {}).flatMap(([name, amount]) =>
      checkAmount(`spec.hard[${name}]`, name, amount),
    ),
  validateChange: (quota, old) =>
    checkImmutable(
      'spec.scopes',
      part<ObjectFields>(quota, 'spec')['scopes'],
      part<ObjectFields>(old, 'spec')['scopes'],
    ),
  extra: { returnsDeletedObject: true },
}
