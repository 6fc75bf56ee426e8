/** Rules for Ingress and IngressClass. */
import { isIP } from 'node:net'
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '../../field-errors.ts'
import { labelNameProblems, pathSegmentNameProblems, subdomainNameProblems, subdomainProblems } from '../../names.ts'
import { checkImmutable, checkOneOf, portNameProblems, portProblems, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkIp } from '../validation/addresses.ts'
import { part } from '../values.ts'

interface Backend {
  readonly service?: { readonly name: string; readonly port?: { readonly name?: string; readonly number?: number } }
  readonly resource?: { readonly apiGroup?: string; readonly kind: string; readonly name: string }
}

interface HttpPath {
  readonly path?: string
  readonly pathType?: string | null
  readonly backend?: Backend
}

interface IngressSpec {
  readonly ingressClassName: string
  readonly defaultBackend: Backend
  readonly tls: ReadonlyArray<{ readonly hosts?: readonly string[]; readonly secretName?: string }>
  readonly rules: ReadonlyArray<{
    readonly host?: string
    readonly http?: { readonly paths: readonly HttpPath[] | null }
  }>
}

function wildcardProblems(host: string): string[] {
  const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
  const pattern = `\\*\\.${label}(\\.${label})*`
  if (new RegExp(`^${pattern}$`).test(host)) return []
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
  return [`${rule} (e.g. '*.example.com', regex used for validation is '${pattern}')`]
}

function checkHost(path: string, host: string): FieldError[] {
  return problemsAt(path, host, host.includes('*') ? wildcardProblems(host) : subdomainProblems(host))
}

function checkBackend(path: string, { service, resource }: Backend): FieldError[] {
  if (service && resource) return [invalid(path, '', 'cannot set both resource and service backends')]
  if (resource) return checkReference(`${path}.resource`, resource)
  if (!service) return [invalid(path, '', 'resource or service backend is required')]
  const { name = '', number = 0 } = service.port ?? {}
  const errors =
    service.name === ''
      ? [required(`${path}.service.name`)]
      : problemsAt(`${path}.service.name`, service.name, labelNameProblems(service.name, false))
  if (name !== '' && number !== 0) return [...errors, invalid(path, '', 'cannot set both port name & port number')]
  if (name !== '') return [...errors, ...problemsAt(`${path}.service.port.name`, name, portNameProblems(name))]
  if (number !== 0) return [...errors, ...problemsAt(`${path}.service.port.number`, number, portProblems(number))]
  return [...errors, required(path, 'port name or number is required')]
}

function checkReference(
  path: string,
  reference: { readonly apiGroup?: string; readonly kind: string; readonly name: string },
): FieldError[] {
  const errors =
    reference.apiGroup === undefined
      ? []
      : problemsAt(`${path}.apiGroup`, reference.apiGroup, subdomainProblems(reference.apiGroup))
  for (const field of ['kind', 'name'] as const) {
    const value = reference[field]
    errors.push(
      ...(value === ''
        ? [required(`${path}.${field}`)]
        : problemsAt(`${path}.${field}`, value, pathSegmentNameProblems(value, false))),
    )
  }
  return errors
}

const badSequences = ['//', '/./', '/../', '%2f', '%2F']
const badSuffixes = ['/..', '/.']

function checkHttpPath(at: string, { path = '', pathType, backend = {} }: HttpPath): FieldError[] {
  if (!pathType) return [required(`${at}.pathType`, 'pathType must be specified')]
  const errors: FieldError[] = []
  const isFree = pathType === 'ImplementationSpecific'
  if (isFree || pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/') && !(isFree && path === ''))
      errors.push(invalid(`${at}.path`, path, 'must be an absolute path'))
    if (!isFree) {
      for (const part of badSequences)
        if (path.includes(part)) errors.push(invalid(`${at}.path`, path, `must not contain '${part}'`))
      for (const part of badSuffixes)
        if (path.endsWith(part)) errors.push(invalid(`${at}.path`, path, `cannot end with '${part}'`))
    }
  } else errors.push(notSupported(`${at}.pathType`, pathType, ['Exact', 'ImplementationSpecific', 'Prefix']))
  return [...errors, ...checkBackend(`${at}.backend`, backend)]
}

function validateIngress(ingress: KubeObject): FieldError[] {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = part<IngressSpec>(ingress, 'spec')
  const isEmpty = rules.length === 0 && !defaultBackend
  return [
    ...(isEmpty ? [invalid('spec', null, 'either `defaultBackend` or `rules` must be specified')] : []),
    ...(defaultBackend ? checkBackend('spec.defaultBackend', defaultBackend) : []),
    ...rules.flatMap(({ host = '', http }, index) => {
      const at = `spec.rules[${index}]`
      const errors = isIP(host) === 0 ? [] : [invalid(`${at}.host`, host, 'must be a DNS name, not an IP address')]
      if (host !== '') errors.push(...checkHost(`${at}.host`, host))
      if (!http) return errors
      const paths = http.paths ?? []
      if (paths.length === 0) errors.push(required(`${at}.http.paths`))
      return [...errors, ...paths.flatMap((path, number) => checkHttpPath(`${at}.http.paths[${number}]`, path))]
    }),
    ...tls.flatMap(({ hosts = [], secretName }, index) => [
      ...hosts.flatMap((host, number) => checkHost(`spec.tls[${index}].hosts[${number}]`, host)),
      ...(secretName
        ? problemsAt(`spec.tls[${index}].secretName`, secretName, subdomainNameProblems(secretName, false))
        : []),
    ]),
    ...(ingressClassName === undefined
      ? []
      : problemsAt('spec.ingressClassName', ingressClassName, subdomainNameProblems(ingressClassName, false))),
  ]
}

interface BalancerStatus {
  readonly ingress?: ReadonlyArray<{ readonly ip?: string; readonly hostname?: string }>
}

function validateIngressStatus(ingress: KubeObject): FieldError[] {
  const { loadBalancer } = part<{ loadBalancer: BalancerStatus }>(ingress, 'status')
  return (loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }, index) => {
    const at = `status.loadBalancer.ingress[${index}]`
    const errors = ip ? checkIp(`${at}.ip`, ip) : []
    if (!hostname) return errors
    errors.push(...problemsAt(`${at}.hostname`, hostname, subdomainProblems(hostname)))
    return isIP(hostname) === 0
      ? errors
      : [...errors, invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address')]
  })
}

const specGeneration = (object: KubeObject): unknown => object['spec']

export const ingressRules: KindRules = {
  hasStatus: true,
  generationOf: specGeneration,
  validate(ingress) {
    const name = part<IngressSpec>(ingress, 'spec').ingressClassName
    const annotation = ingress.metadata.annotations?.['kubernetes.io/ingress.class']
    const errors = validateIngress(ingress)
    if (annotation === undefined || name === undefined || annotation === name) return errors
    const rule = 'must match `ingressClassName` when both are specified'
    return [...errors, invalid('annotations.kubernetes.io/ingress.class', annotation, rule)]
  },
  validateUpdate: validateIngress,
  validateStatus: validateIngressStatus,
}

interface ClassSpec {
  readonly controller: string
  readonly parameters: {
    readonly apiGroup?: string
    readonly kind: string
    readonly name: string
    readonly scope?: string
    readonly namespace?: string
  }
}

function checkController(path: string, controller: string): FieldError[] {
  if (controller === '') return [required(path)]
  const [, host = '', rest = ''] = /^([^/]*)\/(.*)$/s.exec(controller) ?? []
  if (host === '' || rest === '')
    return [invalid(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  const errors = problemsAt(path, host, subdomainProblems(host))
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
  if (new RegExp(`^${pattern}$`).test(rest)) return errors
  return [...errors, invalid(path, rest, `Invalid path (regex used for validation is '${pattern}')`)]
}

function validateIngressClass(object: KubeObject): FieldError[] {
  const { controller = '', parameters } = part<ClassSpec>(object, 'spec')
  const errors = Buffer.byteLength(controller) > 250 ? [tooLong('spec.controller', 250)] : []
  errors.push(...checkController('spec.controller', controller))
  if (!parameters) return errors
  const path = 'spec.parameters'
  errors.push(
    ...checkReference(path, parameters),
    ...checkOneOf(`${path}.scope`, parameters.scope, ['Cluster', 'Namespace']),
  )
  if (parameters.scope === 'Namespace' && parameters.namespace === undefined) {
    errors.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"))
  }
  if (parameters.scope === 'Cluster' && parameters.namespace !== undefined) {
    errors.push(forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'"))
  }
  return errors
}

export const ingressClassRules: KindRules = {
  generationOf: specGeneration,
  validate: validateIngressClass,
  validateChange: (object, old) =>
    checkImmutable(
      'spec.controller',
      part<ClassSpec>(object, 'spec').controller,
      part<ClassSpec>(old, 'spec').controller,
    ),
}
