/** The entries of webhook configurations: one for each admission handler, as the API server would show them. Pure. */
import { ABSENT, PRESENT } from '../handlers/filters.ts'
import type { AdmissionHandler } from '../handlers/handler.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { selectResources } from '../kube/resources/selectors.ts'
import type { WebhookClientConfig } from '../settings/webhook-server.ts'
import { digestInHex } from '../util/text/digest.ts'

export type ConfigurationKind = 'validate' | 'mutate'

export interface WebhooksOptions {
  /** The admission handlers of the kind, in the order of registration. */
  readonly handlers: readonly AdmissionHandler[]
  /** What the cluster serves. */
  readonly resources: readonly Resource[]
  /** The name of the configuration. */
  readonly suffix: string
  readonly clientConfig: WebhookClientConfig
}

/** What the API server fills in is written out, so that what is there can be compared with what should be. */
export function buildWebhooks({ handlers, resources, suffix, clientConfig }: WebhooksOptions): JsonObject[] {
  const names = new Map<string, number>()
  return handlers.flatMap((handler) => {
    const rules = buildRules(handler, resources)
    // Without a rule nothing is asked: its resource is not there, or not yet.
    if (rules.length === 0) return []
    const { sideEffects, ignoreFailures } = handler.admission!
    return [
      {
        name: `${numbered(shortened(handler.id, suffix), names)}.${suffix}`,
        sideEffects: sideEffects ? 'NoneOnDryRun' : 'None',
        failurePolicy: ignoreFailures ? 'Ignore' : 'Fail',
        matchPolicy: 'Equivalent',
        rules,
        objectSelector: buildSelector(handler),
        namespaceSelector: {},
        clientConfig: atPath(clientConfig, handler.id),
        timeoutSeconds: 30,
        admissionReviewVersions: ['v1', 'v1beta1'],
        ...(handler.type === 'mutate' ? { reinvocationPolicy: 'Never' } : {}),
      },
    ]
  })
}

/** Where several resources have the name, all of them are meant. */
function buildRules({ selector, admission }: AdmissionHandler, resources: readonly Resource[]): JsonObject[] {
  const { subresource, operations } = admission!
  return selectResources(selector!, resources).candidates.map(({ group, version, plural }) => ({
    apiGroups: [group],
    apiVersions: [version],
    resources: [subresource === undefined ? plural : `${plural}/${subresource}`],
    operations: [...(operations ?? ['*'])],
    scope: '*',
  }))
}

/** So that what would be filtered out is not even asked about; what a function decides is asked here. */
function buildSelector({ labels = {} }: AdmissionHandler): JsonObject {
  const expressions = Object.entries(labels).flatMap(([key, pattern]): JsonObject[] => {
    if (pattern === PRESENT) return [{ key, operator: 'Exists' }]
    if (pattern === ABSENT) return [{ key, operator: 'DoesNotExist' }]
    return typeof pattern === 'string' ? [{ key, operator: 'In', values: [pattern] }] : []
  })
  return expressions.length === 0 ? {} : { matchExpressions: expressions }
}

/** The id is the rest of the path; slashes in it stay. */
export function atPath({ url, service, caBundle }: WebhookClientConfig, id: string): JsonObject {
  const join = (root: string, path: string) => `${root.replace(/\/+$/, '')}/${path}`
  return {
    ...(url === undefined ? {} : { url: join(url, id.split('/').map(encodeURIComponent).join('/')) }),
    ...(service && { service: { port: 443, ...service, path: join(service.path ?? '', servicePath(id)) } }),
    ...(caBundle === undefined ? {} : { caBundle }),
  }
}

/**
 * Of a path of a service, the API server accepts only steps that could be names of objects. Ids that have others are known by
 * their valid part and a digest: whoever is asked has to compare with this, too.
 */
export function servicePath(id: string): string {
  const isValid = id
    .split('/')
    .every((step) => step.split('.').every((label) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label)))
  return isValid && id.length <= 63 ? id : digested(id, 50)
}

/** Of so many characters at most. */
function digested(id: string, length: number): string {
  const digest = digestInHex(id)
  const beginning = toLabels(id).slice(0, length - digest.length - 1)
  return `${beginning.replace(/[-.]+$/, '')}-${digest}`
}

const maxNameLength = 253
/** `-999`: nobody has more handlers with names that are alike. */
const maxNumberLength = 4

function shortened(id: string, suffix: string): string {
  const labels = toLabels(id)
  const room = maxNameLength - maxNumberLength - suffix.length - 1
  return labels.length <= room ? labels : digested(id, room)
}

/** With room for a digest and a number it has the 63 characters that a label of DNS can have. */
const maxLabelLength = 50

/**
 * As in Kopf, but valid for any id: slashes become dots, underscores dashes, other characters their bytes in hex. Capitals are
 * lowered, labels are cut where they would be too long, and none begins or ends with a dash.
 */
function toLabels(id: string): string {
  const labels = id
    .replaceAll('/', '.')
    .replaceAll('_', '-')
    .replace(/[^A-Za-z0-9.-]/gu, (character) => Buffer.from(character).toString('hex'))
    .toLowerCase()
    .split('.')
    .map((label) => label.slice(0, maxLabelLength).replace(/^-+|-+$/g, ''))
    .filter((label) => label !== '')
  return labels.length === 0 ? 'webhook' : labels.join('.')
}

/** The names must differ: handlers of one function, or of ids that are alike, are numbered. */
function numbered(name: string, names: Map<string, number>): string {
  const count = (names.get(name) ?? 0) + 1
  names.set(name, count)
  return count === 1 ? name : numbered(`${name}-${count}`, names)
}
