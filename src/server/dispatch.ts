/** Finds the verb that serves a request, by method and path, and checks that the resource supports it. */
import type { ApiResponse, ResourceCall } from './call.ts'
import { canHoldExpressions, loadCel } from './cel/lazy.ts'
import { decodeBody } from './decode.ts'
import { quote } from './field-errors.ts'
import { pathSegmentNameProblems } from './names.ts'
import { notFoundPage } from './non-resource-routes.ts'
import { objectAnswer } from './representation.ts'
import { verbOf } from './request.ts'
import type { ApiResource } from './resource.ts'
import { badRequest, methodNotAllowed, notFound, pathNotFound } from './status.ts'
import { create } from './verbs/create.ts'
import { remove, removeCollection } from './verbs/delete.ts'
import { get } from './verbs/get.ts'
import { list } from './verbs/list.ts'
import { patch } from './verbs/patch.ts'
import { matchNamespace } from './verbs/place.ts'
import { connectToPod, podConnections } from './verbs/pod-connections.ts'
import { getScale, patchScale, updateScale } from './verbs/scale.ts'
import { createToken } from './verbs/token.ts'
import { update } from './verbs/update.ts'
import { watch } from './verbs/watch.ts'
import { toWriteOptions } from './webhooks/options.ts'
import { createReviewer } from './webhooks/reviewer.ts'

type VerbHandler = (call: ResourceCall) => ApiResponse | Promise<ApiResponse>

const verbs: Readonly<Record<string, VerbHandler>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
}

const partVerbs: Readonly<Record<string, VerbHandler>> = { get, update, patch }
const tokenVerbs: Readonly<Record<string, VerbHandler>> = { create: createToken }
const scaleVerbs: Readonly<Record<string, VerbHandler>> = { get: getScale, update: updateScale, patch: patchScale }

/** Subresources with their own verbs: they return something else than the object. */
const otherParts: Readonly<Record<string, Readonly<Record<string, VerbHandler>>>> = {
  scale: scaleVerbs,
  token: tokenVerbs,
}

export function dispatch(call: ResourceCall, method: string): ApiResponse | Promise<ApiResponse> {
  // Decided by the resource, not by the body's text: a key can be escaped, and a mutating webhook can add one.
  const mayBringExpression = call.sent.length > 0 && canHoldExpressions(call.resource.collection)
  return mayBringExpression ? loadCel().then(() => serveVerb(call, method)) : serveVerb(call, method)
}

function serveVerb(call: ResourceCall, method: string): ApiResponse | Promise<ApiResponse> {
  const { resource, path, query } = call
  const verb = verbOf({ method, path: '', query, resource: path })
  if (verb === undefined) throw methodNotAllowed()
  if (path.subresource !== '') return dispatchSubresource(call, verb)
  if (resource.evaluate !== undefined) return evaluate(call, verb)
  const isNamedVerb = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete'
  if (isNamedVerb !== (path.name !== '') && verb !== 'watch') throw methodNotAllowed()
  // A namespaced object needs a namespace in its path; lists and watches can span all namespaces.
  const needsNamespace = resource.namespaced && (isNamedVerb || verb === 'create')
  if (needsNamespace && path.namespace === '') throw verb === 'create' ? methodNotAllowed() : pathNotFound()
  // Deleting a collection across all namespaces is possible for custom resources only.
  const isEverywhere = verb === 'deletecollection' && resource.namespaced && path.namespace === ''
  if (isEverywhere && !resource.isCustom) throw methodNotAllowed()
  if (!resource.namespaced && path.namespace !== '') return misplaced(resource)
  if (!resource.isCustom && !resource.verbs.includes(verb)) throw methodNotAllowed()
  checkName(path.name)
  return verbs[verb]!(call)
}

/** Rejects names that cannot be part of an etcd key in kube-apiserver, such as `..`. */
function checkName(name: string): void {
  const problems = pathSegmentNameProblems(name, false)
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${quote(name)}: ${problems.join(';')}`)
}

/** The response for a cluster-scoped resource with a namespace in its path. */
function misplaced({ isCustom }: ApiResource): ApiResponse {
  if (!isCustom) throw pathNotFound()
  return notFoundPage
}

function dispatchSubresource(call: ResourceCall, verb: string): ApiResponse | Promise<ApiResponse> {
  const { resource, path } = call
  const { subresource } = path
  if (resource.plural === 'pods' && !resource.isCustom && podConnections.has(subresource)) return connectToPod(call)
  const known = resource.subresources.find(({ name }) => name === subresource)
  if (known === undefined) throw resource.isCustom ? notFound(resource, path.name) : pathNotFound()
  const serve = (otherParts[subresource] ?? partVerbs)[verb]
  if (serve === undefined || !known.verbs.includes(verb)) throw methodNotAllowed()
  checkName(path.name)
  return serve(call)
}

async function evaluate(call: ResourceCall, verb: string): Promise<ApiResponse> {
  if (verb !== 'create') throw methodNotAllowed()
  const question = await decodeBody(call, 'Ignore')
  if (call.resource.namespaced) matchNamespace(call, question)
  const reviewer = createReviewer(call, () => ({
    operation: 'CREATE',
    name: question.metadata.name ?? '',
    options: toWriteOptions('CreateOptions', call.query),
    dryRun: call.query.has('dryRun'),
  }))
  const reviewed = reviewer === undefined ? question : await reviewer.mutate(question)
  await reviewer?.validate(reviewed)
  return objectAnswer(call, 201, call.resource.evaluate!(reviewed, call.user))
}
