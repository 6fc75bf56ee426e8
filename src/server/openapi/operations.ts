/**
 * The operations on the paths of a resource, for OpenAPI documents. kubectl reads from them whether the server supports
 * `fieldValidation`, and the kind of a path.
 */
import type { JsonObject } from '../../kube/objects.ts'
import type { ApiResource, Subresource } from '../resource.ts'
import { common, reference, schemaName } from './names.ts'

const patchTypes = ['application/json-patch+json', 'application/merge-patch+json']
const typedPatchTypes = [...patchTypes, 'application/strategic-merge-patch+json']

const parameterTypes: Readonly<Record<string, readonly [type: string, description: string]>> = {
  allowWatchBookmarks: ['boolean', 'Whether a watch has events of the type BOOKMARK.'],
  continue: ['string', 'Where the previous page of a list ended.'],
  dryRun: ['string', 'All: everything is checked, nothing is kept.'],
  fieldManager: ['string', 'The name under which the change is recorded.'],
  fieldSelector: ['string', 'Only objects with these values of their fields.'],
  fieldValidation: ['string', 'What to do about unknown and duplicate fields: Ignore, Warn or Strict.'],
  force: ['boolean', 'Whether an apply takes over fields that others have set.'],
  gracePeriodSeconds: ['integer', 'How long the object may take to end.'],
  labelSelector: ['string', 'Only objects with these labels.'],
  limit: ['integer', 'How many objects a page has at most.'],
  orphanDependents: ['boolean', 'Deprecated: use propagationPolicy.'],
  pretty: ['string', 'Whether the answer is indented.'],
  propagationPolicy: ['string', 'What becomes of dependents: Orphan, Background or Foreground.'],
  resourceVersion: ['string', 'The version to read from.'],
  resourceVersionMatch: ['string', 'How resourceVersion is meant: Exact or NotOlderThan.'],
  sendInitialEvents: ['boolean', 'Whether a watch begins with the objects that are there.'],
  timeoutSeconds: ['integer', 'How long the call takes at most.'],
  watch: ['boolean', 'Whether changes are sent as they happen.'],
}

const listing = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]
const writing = ['dryRun', 'fieldManager', 'fieldValidation']
const deleting = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy']

/** The type of a request or response body. */
type Content = 'object' | 'list' | 'status' | 'options' | 'patch'

interface OpenApiOperation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** The value of `x-kubernetes-action`. */
  readonly action: string
  /** The first word of the operation id. */
  readonly word: string
  readonly describe: (what: string) => string
  readonly parameters: readonly string[]
  readonly body?: Content
  readonly answers: Readonly<Record<string, Content>>
}

/** By API verb. */
const operations: Readonly<Record<string, OpenApiOperation>> = {
  list: {
    method: 'get',
    action: 'list',
    word: 'list',
    describe: (what) => `list objects of kind ${what}`,
    parameters: listing,
    answers: { 200: 'list' },
  },
  create: {
    method: 'post',
    action: 'post',
    word: 'create',
    describe: (what) => `create ${what}`,
    parameters: writing,
    body: 'object',
    answers: { 200: 'object', 201: 'object', 202: 'object' },
  },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    word: 'deleteCollection',
    describe: (what) => `delete collection of ${what}`,
    parameters: [...new Set([...listing, ...deleting])].sort(),
    body: 'options',
    answers: { 200: 'status' },
  },
  get: {
    method: 'get',
    action: 'get',
    word: 'read',
    describe: (what) => `read ${what}`,
    parameters: ['resourceVersion'],
    answers: { 200: 'object' },
  },
  update: {
    method: 'put',
    action: 'put',
    word: 'replace',
    describe: (what) => `replace ${what}`,
    parameters: writing,
    body: 'object',
    answers: { 200: 'object', 201: 'object' },
  },
  delete: {
    method: 'delete',
    action: 'delete',
    word: 'delete',
    describe: (what) => `delete ${what}`,
    parameters: deleting,
    body: 'options',
    answers: { 200: 'status', 202: 'status' },
  },
  patch: {
    method: 'patch',
    action: 'patch',
    word: 'patch',
    describe: (what) => `partially update ${what}`,
    parameters: [...writing, 'force'],
    body: 'patch',
    answers: { 200: 'object', 201: 'object' },
  },
}

const collectionVerbs = ['list', 'create', 'deletecollection']
const objectVerbs = ['get', 'update', 'delete', 'patch']

/** One path and its operations. */
interface OperationPath {
  readonly path: string
  readonly resource: ApiResource
  readonly subresource?: Subresource
  readonly verbs: readonly string[]
  /** The subject of the descriptions. */
  readonly what: string
  /** The last part of the operation ids. */
  readonly name: string
}

/** The paths of a resource and its subresources; `base` is `/apis/<group>/<version>`. */
export function pathsOf(resource: ApiResource, base: string): Array<[path: string, item: JsonObject]> {
  return placesOf(resource, base)
    .filter((place) => place.verbs.length > 0)
    .map((place) => [place.path, toItem(place)])
}

function placesOf(resource: ApiResource, base: string): OperationPath[] {
  const { plural, kind, namespaced, verbs } = resource
  const collection = `${namespaced ? `${base}/namespaces/{namespace}` : base}/${plural}`
  const object = `${collection}/{name}`
  const name = namespaced ? `Namespaced${kind}` : kind
  const select = (among: readonly string[]): string[] => verbs.filter((verb) => among.includes(verb))
  const places: OperationPath[] = [
    { path: collection, resource, verbs: select(collectionVerbs), what: kind, name },
    { path: object, resource, verbs: select(objectVerbs), what: `the specified ${kind}`, name },
    ...resource.subresources.filter(isDescribed).map((subresource) => ({
      path: `${object}/${subresource.name}`,
      resource,
      subresource,
      verbs: subresource.verbs,
      what: `${subresource.name} of the specified ${kind}`,
      name: name + capitalize(subresource.name),
    })),
  ]
  if (!namespaced) return places
  const allNamespaces = { path: `${base}/${plural}`, resource, verbs: select(['list']), what: kind }
  return [...places, { ...allNamespaces, name: `${kind}ForAllNamespaces` }]
}

/** Review kinds have no schemas here, which includes TokenRequest. */
function isDescribed({ kind }: Subresource): boolean {
  return kind !== 'TokenRequest'
}

function toItem(place: OperationPath): JsonObject {
  const item: JsonObject = {}
  for (const verb of place.verbs) {
    const operation = Object.hasOwn(operations, verb) ? operations[verb] : undefined
    if (operation) item[operation.method] = toOperation(operation, place)
  }
  const names = [...place.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const inPath = names.sort().map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return { ...item, parameters: [...inPath, toParameter('pretty')] }
}

function toOperation(operation: OpenApiOperation, place: OperationPath): JsonObject {
  const { action, word, describe, parameters, body, answers } = operation
  const { group, version } = place.resource
  const words = wordsOf(group).map(capitalize).join('') + capitalize(version)
  return {
    tags: [
      `${wordsOf(group)
        .map((part, index) => (index === 0 ? part : capitalize(part)))
        .join('')}_${version}`,
    ],
    description: describe(place.what),
    operationId: word.replace(/^([a-z]+)(.*)$/, `$1${words}$2${place.name}`),
    parameters: parameters.map(toParameter),
    ...(body === undefined ? {} : { requestBody: toBody(body, place) }),
    responses: toResponses(answers, place),
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': kindOf(place),
  }
}

/** A subresource of a CRD has the kind of its parent. */
function kindOf({ resource, subresource }: OperationPath): JsonObject {
  const { group, version, kind } = resource.isCustom ? resource : (subresource ?? resource)
  return { group, kind, version }
}

function toParameter(name: string): JsonObject {
  const [type, description] = parameterTypes[name]!
  return { name, in: 'query', description, schema: { type, uniqueItems: true } }
}

function toBody(content: Content, place: OperationPath): JsonObject {
  const patches = place.resource.isCustom ? patchTypes : typedPatchTypes
  const types = content === 'patch' ? patches : ['application/json', 'application/yaml']
  return { content: toContent(types, content, place), ...(content === 'options' ? {} : { required: true }) }
}

const phrases: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

function toResponses(answers: OpenApiOperation['answers'], place: OperationPath): JsonObject {
  const responses = Object.entries(answers).map(([code, content]) => {
    return [
      code,
      { description: phrases[code]!, content: toContent(['application/json', 'application/yaml'], content, place) },
    ]
  })
  return { ...Object.fromEntries(responses), 401: { description: 'Unauthorized' } }
}

function toContent(types: readonly string[], content: Content, place: OperationPath): JsonObject {
  const schema = reference(schemaOf(content, place))
  return Object.fromEntries(types.map((type) => [type, { schema }]))
}

function schemaOf(content: Content, { resource, subresource }: OperationPath): string {
  if (content === 'status') return common.status
  if (content === 'options') return common.deleteOptions
  if (content === 'patch') return common.patch
  if (content === 'list') return schemaName(resource, 'List')
  return subresource?.kind === 'Scale' ? common.scale : schemaName(resource)
}

/** `rbac.authorization.k8s.io` -> `rbac`, `authorization` */
function wordsOf(group: string): string[] {
  return group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split(/[.-]/)
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
