/** Rules for NetworkPolicy. */
import { isIP } from 'node:net'
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import {
  checkLabelSelector,
  checkOneOf,
  type IntOrString,
  type LabelSelectorSpec,
  portNameProblems,
  portProblems,
  problemsAt,
} from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { part } from '../values.ts'

interface PolicyPort {
  readonly protocol?: string
  readonly port?: IntOrString
  readonly endPort?: number
}

interface NetworkPolicyPeer {
  readonly podSelector?: LabelSelectorSpec
  readonly namespaceSelector?: LabelSelectorSpec
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface PolicySpec {
  readonly podSelector: LabelSelectorSpec
  readonly ingress: ReadonlyArray<{
    readonly ports?: readonly PolicyPort[]
    readonly from?: readonly NetworkPolicyPeer[]
  }>
  readonly egress: ReadonlyArray<{ readonly ports?: readonly PolicyPort[]; readonly to?: readonly NetworkPolicyPeer[] }>
  readonly policyTypes: readonly string[]
}

function checkPolicyPort(path: string, { protocol, port, endPort }: PolicyPort): FieldError[] {
  const errors = checkOneOf(`${path}.protocol`, protocol, ['TCP', 'UDP', 'SCTP'])
  const end = (rule: string): FieldError[] => (endPort === undefined ? [] : [invalid(`${path}.endPort`, endPort, rule)])
  if (port === undefined) return [...errors, ...end('may not be specified when `port` is not specified')]
  if (typeof port === 'string') {
    return [
      ...errors,
      ...end('may not be specified when `port` is non-numeric'),
      ...problemsAt(`${path}.port`, port, portNameProblems(port)),
    ]
  }
  errors.push(...problemsAt(`${path}.port`, port, portProblems(port)))
  if (endPort === undefined) return errors
  if (endPort < port) errors.push(invalid(`${path}.endPort`, port, 'must be greater than or equal to `port`'))
  return [...errors, ...problemsAt(`${path}.endPort`, endPort, portProblems(endPort))]
}

function checkPeer(path: string, { podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer): FieldError[] {
  const errors = [
    ...checkLabelSelector(`${path}.podSelector`, podSelector),
    ...checkLabelSelector(`${path}.namespaceSelector`, namespaceSelector),
    ...(ipBlock ? checkRange(`${path}.ipBlock.cidr`, ipBlock.cidr) : []),
  ]
  if (!podSelector && !namespaceSelector && !ipBlock) return [...errors, required(path, 'must specify a peer')]
  if (!ipBlock || (!podSelector && !namespaceSelector)) return errors
  return [...errors, forbidden(path, 'may not specify both ipBlock and another peer')]
}

function checkRange(path: string, range: string): FieldError[] {
  if (range === '') return [required(path)]
  const [address = '', bits = '', ...more] = range.split('/')
  const family = isIP(address)
  const isGood =
    family !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  return isGood ? [] : [invalid(path, range, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
}

function validatePolicy(policy: KubeObject): FieldError[] {
  const { podSelector, ingress = [], egress = [], policyTypes = [] } = part<PolicySpec>(policy, 'spec')
  const rules = [
    ...ingress.map(({ ports = [], from = [] }, index) => ({
      at: `spec.ingress[${index}]`,
      ports,
      peers: from,
      field: 'from',
    })),
    ...egress.map(({ ports = [], to = [] }, index) => ({ at: `spec.egress[${index}]`, ports, peers: to, field: 'to' })),
  ]
  const errors = [
    ...checkLabelSelector('spec.podSelector', podSelector),
    ...rules.flatMap(({ at, ports, peers, field }) => [
      ...ports.flatMap((port, index) => checkPolicyPort(`${at}.ports[${index}]`, port)),
      ...peers.flatMap((peer, index) => checkPeer(`${at}.${field}[${index}]`, peer)),
    ]),
  ]
  if (policyTypes.length > 2)
    return [...errors, invalid('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes')]
  return [
    ...errors,
    ...policyTypes.flatMap((type, index) => checkOneOf(`spec.policyTypes[${index}]`, type, ['Ingress', 'Egress'])),
  ]
}

export const networkPolicyRules: KindRules = { generationOf: (policy) => policy['spec'], validate: validatePolicy }
