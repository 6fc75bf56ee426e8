/** Builds the entries of webhook configurations, one for each admission handler. Called by webhook-configurations.ts. Pure. */
import { ABSENT, PRESENT } from '../handlers/filters.ts'
import type { AdmissionHandler } from '../handlers/handler.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { selectResources } from '../kube/resources/selectors.ts'
import type { WebhookClientConfig } from '../settings/webhook-server.ts'
import { digestInHex } from '../util/text/digest.ts'

/** The handler type of a configuration: `ValidatingWebhookConfiguration` or `MutatingWebhookConfiguration`. */
export type ConfigurationType = 'validate' | 'mutate'

export interface WebhooksOptions {
  /** The admission handlers of one type, in the order of registration. */
  readonly handlers: readonly AdmissionHandler[]
  /** The served resources. */
  readonly resources: readonly Resource[]
  /** The name of the configuration: the end of every webhook name. */
  readonly suffix: string
  readonly clientConfig: WebhookClientConfig
}

/** Writes out the fields that the API server would default, so that the stored entries can be compared with the desired ones. */
export function buildWebhooks({ handlers, resources, suffix, clientConfig }: WebhooksOptions): JsonObject[] {
  const names = new Map<string, number>()
  return handlers.flatMap((handler) => {
    const rules = buildRules(handler, resources)
    // The resource of the handler is not served (yet): a webhook without rules is never called.
    if (rules.length === 0) return []
    const { sideEffects, ignoreFailures } = handler.admission!
    return [
      {
        name: `${toUniqueName(toShortName(handler.id, suffix), names)}.${suffix}`,
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

/** One rule for each resource that the selector matches. */
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

/** Filters by labels in the API server, so that it does not call the webhook for other objects. Label filters with callbacks are checked in the operator. */
function buildSelector({ labels = {} }: AdmissionHandler): JsonObject {
  const expressions = Object.entries(labels).flatMap(([key, pattern]): JsonObject[] => {
    if (pattern === PRESENT) return [{ key, operator: 'Exists' }]
    if (pattern === ABSENT) return [{ key, operator: 'DoesNotExist' }]
    return typeof pattern === 'string' ? [{ key, operator: 'In', values: [pattern] }] : []
  })
  return expressions.length === 0 ? {} : { matchExpressions: expressions }
}

/** Appends the handler id to the path of the client configuration. Slashes in the id stay. */
export function atPath({ url, service, caBundle }: WebhookClientConfig, id: string): JsonObject {
  const join = (root: string, path: string) => `${root.replace(/\/+$/, '')}/${path}`
  return {
    ...(url === undefined ? {} : { url: join(url, id.split('/').map(encodeURIComponent).join('/')) }),
    ...(service && { service: { port: 443, ...service, path: join(service.path ?? '', servicePath(id)) } }),
    ...(caBundle === undefined ? {} : { caBundle }),
  }
}

/**
 * The path of a webhook behind a Service. The API server accepts only path segments that are DNS subdomains, so that other ids are replaced by their
 * valid characters and a digest. admission-review.ts finds the handler by this path, too.
 */
export function servicePath(id: string): string {
  const isValid = id
    .split('/')
    .every((segment) => segment.split('.').every((label) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label)))
  return isValid && id.length <= 63 ? id : withDigest(id, 50)
}

/** A valid name of at most `maxLength` characters that is unique for the id. */
function withDigest(id: string, maxLength: number): string {
  const digest = digestInHex(id)
  const beginning = toLabels(id).slice(0, maxLength - digest.length - 1)
  return `${beginning.replace(/[-.]+$/, '')}-${digest}`
}

const maxNameLength = 253
/** The length of the suffix `-999`, which makes equal names unique. */
const maxNumberLength = 4

function toShortName(id: string, suffix: string): string {
  const labels = toLabels(id)
  const maxLength = maxNameLength - maxNumberLength - suffix.length - 1
  return labels.length <= maxLength ? labels : withDigest(id, maxLength)
}

/** A DNS label has at most 63 characters; the rest is for a digest and a number. */
const maxLabelLength = 50

/**
 * Converts an id to DNS labels. As in Kopf, slashes become dots, and underscores become dashes. Other invalid characters become their bytes in hex,
 * capitals become lower case, long labels are cut, and no label starts or ends with a dash.
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

/** Adds a number to a name that is in use: the API server requires unique names within a configuration. */
function toUniqueName(name: string, names: Map<string, number>): string {
  const count = (names.get(name) ?? 0) + 1
  names.set(name, count)
  return count === 1 ? name : toUniqueName(`${name}-${count}`, names)
}
