/** From the method and path of a request to the verb that serves it, where its resource has that verb. */
import type { Answer, Call } from './call.ts'
import { canHoldExpressions, loadCel } from './cel/lazy.ts'
import { decodeBody } from './decode.ts'
import { quote } from './field-errors.ts'
import { pathSegmentNameProblems } from './names.ts'
import { notFoundPage } from './pages.ts'
import { objectAnswer } from './representation.ts'
import { verbOf } from './request.ts'
import type { ServedResource } from './resource.ts'
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

type Serve = (call: Call) => Answer | Promise<Answer>

const verbs: Readonly<Record<string, Serve>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
}

const partVerbs: Readonly<Record<string, Serve>> = { get, update, patch }
const tokenVerbs: Readonly<Record<string, Serve>> = { create: createToken }
const scaleVerbs: Readonly<Record<string, Serve>> = { get: getScale, update: updateScale, patch: patchScale }

/** Subresources that show something else than the object, or make it. */
const otherParts: Readonly<Record<string, Readonly<Record<string, Serve>>>> = { scale: scaleVerbs, token: tokenVerbs }

export function dispatch(call: Call, method: string): Answer | Promise<Answer> {
  // By the resource, not by the text of the body: a key can be written with escapes, and a mutating webhook can add one.
  const mayBringExpression = call.sent.length > 0 && canHoldExpressions(call.resource.collection)
  return mayBringExpression ? loadCel().then(() => serveVerb(call, method)) : serveVerb(call, method)
}

function serveVerb(call: Call, method: string): Answer | Promise<Answer> {
  const { resource, path, query } = call
  const verb = verbOf({ method, path: '', query, resource: path })
  if (verb === undefined) throw methodNotAllowed()
  if (path.subresource !== '') return dispatchSubresource(call, verb)
  if (resource.evaluate !== undefined) return evaluate(call, verb)
  const isNamedVerb = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete'
  if (isNamedVerb !== (path.name !== '') && verb !== 'watch') throw methodNotAllowed()
  // A collection across namespaces can be read and watched, but an object is always in one.
  const needsNamespace = resource.namespaced && (isNamedVerb || verb === 'create')
  if (needsNamespace && path.namespace === '') throw verb === 'create' ? methodNotAllowed() : pathNotFound()
  // Nor can everything be deleted everywhere at once; with custom resources it can.
  const isEverywhere = verb === 'deletecollection' && resource.namespaced && path.namespace === ''
  if (isEverywhere && !resource.isCustom) throw methodNotAllowed()
  if (!resource.namespaced && path.namespace !== '') return misplaced(resource)
  if (!resource.isCustom && !resource.verbs.includes(verb)) throw methodNotAllowed()
  checkName(path.name)
  return verbs[verb]!(call)
}

/** A name that could not be part of a path of the real server's store, where `..` would lead elsewhere. */
function checkName(name: string): void {
  const problems = pathSegmentNameProblems(name, false)
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${quote(name)}: ${problems.join(';')}`)
}

/** A cluster-scoped resource inside a namespace. */
function misplaced({ isCustom }: ServedResource): Answer {
  if (!isCustom) throw pathNotFound()
  return notFoundPage
}

function dispatchSubresource(call: Call, verb: string): Answer | Promise<Answer> {
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

async function evaluate(call: Call, verb: string): Promise<Answer> {
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
