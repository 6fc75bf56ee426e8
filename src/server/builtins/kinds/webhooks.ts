/** Rules for ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { MatchCondition } from '../../cel/conditions.ts'
import { celEngine } from '../../cel/lazy.ts'
import { validateWebhookUrl } from '../../crds/validate-conversion.ts'
import { duplicate, type FieldError, invalid, required, tooMany } from '../../field-errors.ts'
import { label1035Problems, qualifiedNameProblems, subdomainProblems } from '../../names.ts'
import { checkLabelSelector, checkOneOf, type LabelSelectorSpec, portProblems, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'

export interface WebhookRule {
  readonly operations?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
  readonly scope?: string
}

interface WebhookServiceReference {
  readonly name: string
  readonly namespace: string
  readonly path?: string
  readonly port?: number
}

export interface Webhook {
  readonly name: string
  readonly rules?: readonly WebhookRule[]
  readonly failurePolicy?: string
  readonly matchPolicy?: string
  readonly sideEffects?: string | null
  readonly timeoutSeconds?: number
  readonly namespaceSelector?: LabelSelectorSpec
  readonly objectSelector?: LabelSelectorSpec
  readonly clientConfig?: {
    readonly url?: string
    readonly service?: WebhookServiceReference
    readonly caBundle?: string
  }
  readonly admissionReviewVersions?: readonly string[] | null
  readonly reinvocationPolicy?: string
  readonly matchConditions?: readonly MatchCondition[] | null
}

const webhooksOf = (object: KubeObject): readonly Webhook[] => (object['webhooks'] ?? []) as readonly Webhook[]

function checkName(path: string, name: string): FieldError[] {
  if (name === '') return [required(path)]
  const problems = subdomainProblems(name)
  if (problems.length > 0) return [invalid(path, name, problems.join(','))]
  if (name.split('.').length >= 3) return []
  return [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
}

function checkRule(path: string, rule: WebhookRule): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [] } = rule
  const list = (field: string, values: readonly string[], what: string): FieldError[] => {
    if (values.length === 0) return [required(`${path}.${field}`)]
    if (values.length === 1 || !values.includes('*')) return []
    return [invalid(`${path}.${field}`, values, `if '*' is present, must not specify other ${what}`)]
  }
  return [
    ...list('operations', operations, 'operations'),
    ...operations.flatMap((operation, index) =>
      checkOneOf(`${path}.operations[${index}]`, operation, ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']),
    ),
    ...list('apiGroups', apiGroups, 'API groups'),
    ...list('apiVersions', apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, index) => (version === '' ? [required(`${path}.apiVersions[${index}]`)] : [])),
    ...checkResources(`${path}.resources`, resources),
    ...checkOneOf(`${path}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced']),
  ]
}

function checkResources(path: string, resources: readonly string[]): FieldError[] {
  const errors = resources.length === 0 ? [required(path)] : []
  const [wholeResources, wholeSubresources] = [new Set<string>(), new Set<string>()]
  for (const [index, text] of resources.entries()) {
    if (text === '') errors.push(required(`${path}[${index}]`))
    const slash = text.indexOf('/')
    if (slash < 0) continue
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    const covered = (pattern: string): FieldError =>
      invalid(`${path}[${index}]`, text, `if '${pattern}' is present, must not specify ${text}`)
    if (wholeResources.has(resource)) errors.push(covered(`${resource}/*`))
    if (wholeSubresources.has(subresource)) errors.push(covered(`*/${subresource}`))
    if (subresource === '*') wholeResources.add(resource)
    if (resource === '*') wholeSubresources.add(subresource)
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  }
  // Only the last resource without a subresource is compared, as in the real server.
  const lastPlain = resources.filter((text) => text !== '' && !text.includes('/')).at(-1)
  if (resources.includes('*') && lastPlain !== '*') {
    errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
  }
  return errors
}

function checkClient(path: string, { url, service }: NonNullable<Webhook['clientConfig']>): FieldError[] {
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return url === undefined ? checkService(`${path}.service`, service!) : validateWebhookUrl(url, `${path}.url`)
}

function checkService(
  path: string,
  { name, namespace, path: urlPath = '', port = 443 }: WebhookServiceReference,
): FieldError[] {
  // The real server swaps `name` and `namespace` in these two errors.
  const errors = namespace === '' ? [required(`${path}.name`)] : []
  if (name === '') errors.push(required(`${path}.namespace`))
  const problems = portProblems(port)
  if (problems.length > 0) errors.push(invalid(`${path}.port`, port, `port is not valid: ${problems.join(', ')}`))
  return [...errors, ...checkUrlPath(`${path}.path`, urlPath)]
}

function checkUrlPath(path: string, urlPath: string): FieldError[] {
  if (urlPath === '' || urlPath === '/') return []
  if (urlPath === '//') return [invalid(path, urlPath, 'segment[0] may not be empty')]
  const errors = urlPath.startsWith('/') ? [] : [invalid(path, urlPath, "must start with a '/'")]
  for (const [index, segment] of urlPath.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (segment === '') errors.push(invalid(path, urlPath, `segment[${index}] may not be empty`))
    else
      errors.push(
        ...subdomainProblems(segment).map((problem) => invalid(path, urlPath, `segment[${index}]: ${problem}`)),
      )
  }
  return errors
}

function checkVersions(path: string, versions: readonly string[]): FieldError[] {
  if (versions.length === 0) return [required(path, 'must specify one of v1, v1beta1')]
  const known = new Set<string>()
  const errors = versions.flatMap((version, index) => {
    const at = `${path}[${index}]`
    if (known.has(version)) return [invalid(at, version, 'duplicate version')]
    known.add(version)
    return problemsAt(at, version, label1035Problems(version))
  })
  if (versions.includes('v1') || versions.includes('v1beta1')) return errors
  return [...errors, invalid(path, versions, 'must include at least one of v1, v1beta1')]
}

function checkWebhook(path: string, hook: Webhook): FieldError[] {
  const { sideEffects, timeoutSeconds } = hook
  const harmless = ['None', 'NoneOnDryRun']
  const errors = [
    ...checkName(`${path}.name`, hook.name),
    ...(hook.rules ?? []).flatMap((rule, index) => checkRule(`${path}.rules[${index}]`, rule)),
    ...checkOneOf(`${path}.failurePolicy`, hook.failurePolicy, ['Fail', 'Ignore']),
    ...checkOneOf(`${path}.matchPolicy`, hook.matchPolicy, ['Equivalent', 'Exact']),
    ...(!sideEffects ? [required(`${path}.sideEffects`, `must specify one of ${harmless.join(', ')}`)] : []),
    ...checkOneOf(`${path}.sideEffects`, sideEffects, harmless),
  ]
  if (timeoutSeconds !== undefined && (timeoutSeconds < 1 || timeoutSeconds > 30)) {
    errors.push(invalid(`${path}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds'))
  }
  return [
    ...errors,
    ...checkLabelSelector(`${path}.namespaceSelector`, hook.namespaceSelector),
    ...checkLabelSelector(`${path}.objectSelector`, hook.objectSelector),
    ...checkClient(`${path}.clientConfig`, hook.clientConfig ?? {}),
    ...checkOneOf(`${path}.reinvocationPolicy`, hook.reinvocationPolicy, ['IfNeeded', 'Never']),
    ...checkConditions(`${path}.matchConditions`, hook.matchConditions ?? []),
  ]
}

const maxMatchConditions = 64

function checkConditions(path: string, conditions: readonly MatchCondition[]): FieldError[] {
  const errors = conditions.length > maxMatchConditions ? [tooMany(path, conditions.length, maxMatchConditions)] : []
  const names = new Set<string>()
  for (const [index, condition] of conditions.entries()) {
    const { name } = condition
    errors.push(...checkCondition(`${path}[${index}]`, condition))
    if (name !== '' && names.has(name)) errors.push(duplicate(`${path}[${index}].name`, name))
    names.add(name)
  }
  return errors
}

function checkCondition(path: string, { name, expression }: MatchCondition): FieldError[] {
  const source = expression.trim()
  const [problem] = source === '' ? [] : celEngine().compileConditions([{ name, expression: source }]).problems
  return [
    ...(source === '' ? [required(`${path}.expression`)] : []),
    ...(problem === undefined ? [] : [invalid(`${path}.expression`, source, problem)]),
    ...(name === ''
      ? [required(`${path}.name`)]
      : qualifiedNameProblems(name).map((one) => invalid(`${path}.name`, name, one))),
  ]
}

function validate(object: KubeObject): FieldError[] {
  const names = new Set<string>()
  return webhooksOf(object).flatMap((hook, index) => {
    const path = `webhooks[${index}]`
    const errors = [
      ...checkWebhook(path, hook),
      ...checkVersions(`${path}.admissionReviewVersions`, hook.admissionReviewVersions ?? []),
    ]
    if (hook.name !== '' && names.has(hook.name)) errors.push(duplicate(`${path}.name`, hook.name))
    names.add(hook.name)
    return errors
  })
}

/** A PUT must include the resourceVersion. */
export const webhookConfigurationRules: KindRules = {
  generationOf: (object) => object['webhooks'],
  validate,
  extra: { allowsUnconditionalUpdate: false },
}
